#pragma once

#include "sanitized.hpp"

#include <cstddef>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rivulet::support {

inline std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// How much memory this process had when it was made, to compare with later. Sanitizers keep what was freed: nothing
/// can be said under them.
class memory_mark {
public:
    ::testing::AssertionResult grew_at_most(std::size_t bytes) const {
        const std::size_t now = resident_bytes();
        if (sanitized || now <= before_ + bytes)
            return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << "memory grew from " << (before_ >> 20) << " to " << (now >> 20)
                                             << " MiB, more than " << (bytes >> 20) << " MiB";
    }

private:
    std::size_t before_ = resident_bytes();
};

} // namespace rivulet::support
