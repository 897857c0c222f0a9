#pragma once

#include "clock/offset_estimator.hpp"

#include <cstdint>
#include <span>

namespace rivulet::clock {

/// Takes stamps from another host's clock to ours, by the offset that its estimates give for that time. A new estimate
/// makes no step: the difference from the one before fades out evenly over `blend_s` of stamps, so that intervals are
/// true to |difference| / blend_s, and stamps that rise go on rising. Only a clock that was reset makes a step.
/// Threads: one at a time.
class clocksync {
public:
    explicit clocksync(double blend_s = 5) : blend_s_(blend_s) {}

    /// What follows is corrected by this estimate. True: by another line than what came before, as the clock was reset;
    /// dejitter and monotonize are to be restarted.
    bool update(const offset_estimate& estimate);

    /// False until the first update: stamps are left as they are.
    bool ready() const noexcept { return ready_; }

    void apply(std::span<double> stamps) noexcept;

    /// Another outlet, another clock.
    void restart() noexcept { *this = clocksync(blend_s_); }

private:
    double target(double stamp) const noexcept;
    double correction(double stamp) const noexcept;

    double blend_s_;
    bool ready_ = false;
    offset_estimate estimate_;
    double last_ = 0;       ///< the newest stamp seen, on the other clock
    bool seen_ = false;     ///< whether there was one
    double difference_ = 0; ///< from target() to what was applied before, at fades_from_
    double fades_from_ = 0;
    double fades_for_ = 1;
};

} // namespace rivulet::clock
