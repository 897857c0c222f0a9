#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

/// One run of a fuzz target: bytes from outside. Defined once in each target.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rivulet::fuzz {

inline std::span<const std::byte> as_view(const std::uint8_t* data, std::size_t size) {
    return std::as_bytes(std::span(data, size));
}
inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// Ends the run when a promise of the code under test does not hold.
inline void require(bool holds, const char* promise) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

/// How many inputs were accepted by the code under test. Says so at the end, and fails a long session in which hardly
/// one was: what lies behind the first checks was not tested then, and the target needs a mutator that knows its
/// format.
class acceptance {
public:
    ~acceptance() {
        std::fprintf(stderr, "accepted %llu of %llu inputs\n", static_cast<unsigned long long>(accepted_),
                     static_cast<unsigned long long>(runs_));
        if (runs_ >= 10'000 && accepted_ < runs_ / 1000)
            std::_Exit(1);
    }
    /// Once a run.
    bool count(bool accepted) noexcept {
        ++runs_;
        accepted_ += accepted ? 1 : 0;
        return accepted;
    }

private:
    std::uint64_t runs_ = 0;
    std::uint64_t accepted_ = 0;
};

/// Counts a run; returns `accepted`.
inline bool count(bool accepted) noexcept {
    static acceptance all;
    return all.count(accepted);
}

} // namespace rivulet::fuzz
