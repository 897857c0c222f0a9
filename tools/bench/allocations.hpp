#pragma once

#include <cstdint>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RIVULET_COUNTS_ALLOCATIONS
#endif
#ifdef __has_feature // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef RIVULET_COUNTS_ALLOCATIONS
#endif
#endif

namespace rivulet::tools::bench {

#ifdef RIVULET_COUNTS_ALLOCATIONS
inline constexpr bool can_count_allocations = true;
#else
inline constexpr bool can_count_allocations = false;
#endif

/// Counts what this process takes from the heap from now on, whichever library asks (malloc and its relatives, which
/// operator new ends up in). Not possible in builds with sanitizers, which have a malloc of their own.
void count_allocations() noexcept;
std::uint64_t allocations() noexcept;

} // namespace rivulet::tools::bench
