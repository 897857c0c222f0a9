#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RIVULET_UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RIVULET_UNDER_TSAN 1
#endif

namespace rivulet::testing {

/// How many rounds of a stress test to do where the plain build does `rounds`: fewer where ThreadSanitizer, which sees
/// a race in its first occurrence, makes each of them slow.
constexpr std::uint64_t stress_rounds(std::uint64_t rounds) {
#if defined(RIVULET_UNDER_TSAN)
    return std::max<std::uint64_t>(rounds / 10, 1);
#else
    return rounds;
#endif
}

} // namespace rivulet::testing
