#pragma once

#include <cmath>
#include <ctime>

namespace rivulet::tools::bench {

/// One system call, unless a signal comes. @param when on local_clock().
inline void sleep_until(double when) {
    const double whole = std::floor(when);
    const timespec until{static_cast<time_t>(whole), static_cast<long>((when - whole) * 1e9)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

} // namespace rivulet::tools::bench
