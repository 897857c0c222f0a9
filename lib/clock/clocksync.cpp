#include "clock/clocksync.hpp"

#include <algorithm>
#include <cmath>

namespace rivulet::clock {

bool clocksync::update(const offset_estimate& estimate) {
    const bool reset = ready_ && estimate.resets != estimate_.resets;
    const double before = ready_ && seen_ ? correction(last_) : 0;
    const bool blend = ready_ && seen_ && !reset;
    ready_ = true;
    estimate_ = estimate;
    fades_from_ = last_;
    difference_ = blend ? before - target(last_) : 0;
    // Never so steep that stamps could stand still.
    fades_for_ = std::max(blend_s_, 4 * std::abs(difference_));
    return reset;
}

double clocksync::target(double stamp) const noexcept {
    return estimate_.offset_s + estimate_.drift * (stamp + estimate_.offset_s - estimate_.local_s);
}

double clocksync::correction(double stamp) const noexcept {
    const double left = 1 - std::clamp((stamp - fades_from_) / fades_for_, 0.0, 1.0);
    return target(stamp) + difference_ * left;
}

void clocksync::apply(std::span<double> stamps) noexcept {
    if (!ready_)
        return;
    for (double& stamp : stamps) {
        if (!seen_ || stamp > last_)
            last_ = stamp;
        seen_ = true;
        stamp += correction(stamp);
    }
}

} // namespace rivulet::clock
