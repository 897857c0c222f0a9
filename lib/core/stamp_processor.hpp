#pragma once

#include "clock/clocksync.hpp"
#include "clock/dejitter.hpp"
#include "clock/monotonize.hpp"

#include <rivulet/options.hpp>

#include <cstdint>
#include <span>

namespace rivulet::core {

/// What inlet_options::stamps asks for: dejitter on the outlet's clock, then to ours, then monotonize. Threads: the
/// pulling one.
class stamp_processor {
public:
    stamp_processor(const stamp_options& wanted, double nominal_rate_hz)
        : wanted_(wanted), dejitter_(nominal_rate_hz) {}

    /// Consecutive samples as they are pulled. `restarts`: they have nothing to do with those before.
    void apply(std::uint64_t first_sequence, bool restarts, std::span<double> stamps) {
        if (restarts)
            forget();
        if (wanted_.dejitter)
            dejitter_.apply(first_sequence, stamps);
        if (wanted_.clocksync)
            clocksync_.apply(stamps);
        if (wanted_.monotonize)
            monotonize_.apply(stamps);
    }

    /// What is known of the outlet's clock by now. `another`: it is another clock than before.
    void update(const clock::offset_estimate& estimate, bool another) {
        if (another)
            clocksync_.restart();
        if (clocksync_.update(estimate) || another)
            forget();
    }

    /// What comes next has nothing to do with what was.
    void forget() noexcept {
        dejitter_.restart();
        monotonize_.restart();
    }

private:
    const stamp_options wanted_;
    clock::dejitter dejitter_;
    clock::clocksync clocksync_;
    clock::monotonize monotonize_;
};

} // namespace rivulet::core
