#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace rivulet::clock {

/// Stamps never go back: one that would is replaced by the latest before it. Meant for what dejitter has smoothed,
/// where it is rare; raw stamps lose what their jitter said.
/// Threads: one at a time.
class monotonize {
public:
    void apply(std::span<double> stamps) noexcept {
        for (double& stamp : stamps)
            stamp = latest_ = std::max(latest_, stamp); // a NaN takes the latest as well
    }

    /// The next stamp has nothing to do with those before: after a reset of the clock, a flush, a new segment.
    void restart() noexcept { latest_ = -std::numeric_limits<double>::infinity(); }

private:
    double latest_ = -std::numeric_limits<double>::infinity();
};

} // namespace rivulet::clock
