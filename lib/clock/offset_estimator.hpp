#pragma once

#include <rivulet/clock.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace rivulet::clock {

/// One exchange of four stamps, in seconds: asked at t1 and answered at t4 on our clock, received at t2 and replied at
/// t3 on the other one.
struct probe {
    double t1 = 0, t2 = 0, t3 = 0, t4 = 0;

    double rtt() const noexcept { return (t4 - t1) - (t3 - t2); }
    double local() const noexcept { return t1 + (t4 - t1) / 2; }
};

/// What is to be added to a stamp of the other clock to get ours.
struct offset_estimate {
    double offset_s = 0;      ///< at local_s; the truth lies within offset_s +- uncertainty_s
    double uncertainty_s = 0; ///< at most half of the best round trip, and what the clocks may drift since
    double rtt_s = 0;         ///< shortest round trip of the latest burst
    double drift = 0;         ///< seconds that the offset grows in a second of ours
    double local_s = 0;       ///< the time, on our clock, that it is for
    std::uint64_t resets = 0; ///< a change says that the offset jumped, and that the time before knows another line
};

struct estimator_options {
    std::size_t bursts = 64;        ///< that the estimate rests on
    std::size_t records = 1024;     ///< kept for records()
    double max_drift = 5e-4;        ///< clocks differ by at most this rate; what a steered Linux clock may do
    double max_wander = 2e-6;       ///< rates change by at most this much while `bursts` are collected
    double clock_resolution = 1e-6; ///< how far stamps may lie apart from when things happened, seconds
};

/// The offset of another host's clock, from bursts of probes. Pure: time is an argument.
///
/// A request cannot arrive before it was sent, and neither can its reply: each probe says that the offset is at least
/// t1 - t2 and at most t4 - t3. A burst is the intersection of what its probes say: the fastest request and the fastest
/// reply decide, also when they belong to different probes, so that it is never wider than the probe with the lowest
/// round trip alone, and jitter that is worse in one direction does not pull it there. (Selection by delay: D. Mills,
/// RFC 5905, clock filter; intersection of intervals: K. Marzullo and S. Owicki, 1983; bounds in place of averages of
/// one-way delays: S. Moon, P. Skelly and D. Towsley, INFOCOM 1999.) Drift is the regression of the bursts' middles,
/// weighted by their widths; along it, older bursts go on bounding the offset, ever less. A burst that contradicts all
/// of that is a clock that was reset: what came before is forgotten.
///
/// Threads: one at a time.
class offset_estimator {
public:
    explicit offset_estimator(estimator_options options = {});

    /// Adds the probes of one burst, sent within about a second, in any order. Probes that cannot be (not finite,
    /// answered before they were asked) are left out and counted. False: none could be used, nothing changed.
    bool add(std::span<const probe> burst);

    /// For a time on our clock, now as a rule; nothing before the first burst.
    std::optional<offset_estimate> estimate(double local_now) const;

    /// What each burst said by itself, oldest first: those from this number on that are still kept.
    std::vector<clock_record> records(std::uint64_t from) const;

    /// Forgets all bursts: the other clock is another one from now on. Does not count as a reset; records stay.
    void restart();

    std::uint64_t resets() const noexcept { return resets_; }
    std::uint64_t rejected() const noexcept { return rejected_; }

private:
    /// The offset was within low..high at the time `at`.
    struct bounds {
        double at = 0, low = 0, high = 0;
        double middle() const noexcept { return low + (high - low) / 2; }
        double half() const noexcept { return (high - low) / 2; }
        bool empty() const noexcept { return low > high; }
    };
    std::optional<bounds> bounds_of(std::span<const probe> burst, double& rtt);
    bounds bounds_at(double when) const;
    bool contradicts(const bounds& now);
    static double weight_of(const bounds& b);
    bool fit_drift();

    estimator_options options_;
    std::deque<bounds> history_;
    double drift_ = 0;
    double drift_error_; ///< the drift lies within drift_ +- this
    double rtt_ = 0;
    std::deque<clock_record> records_;
    std::uint64_t bursts_ = 0;
    std::uint64_t resets_ = 0;
    std::uint64_t rejected_ = 0;
};

} // namespace rivulet::clock
