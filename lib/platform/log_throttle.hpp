#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rivulet::platform {

/// Decides which repeats of a message are written. Of each event and subject the first `burst` in a window pass, the
/// rest are counted; while it goes on repeating, one a window passes. Time is an argument, seconds of any steady clock.
/// Memory: at most `max_subjects` subjects are told apart, beyond that an event's others share one count.
/// Threads: one at a time.
class log_throttle {
public:
    static constexpr unsigned burst = 5;
    static constexpr double window_seconds = 60;
    static constexpr std::size_t max_subjects = 1024;

    struct summary {
        std::string event;
        std::string subject;
        std::uint8_t level; ///< of the first message of this event and subject
        std::uint64_t suppressed;
    };

    /// True = write it. `level` is only kept for the summary.
    bool admit(std::string_view event, std::string_view subject, std::uint8_t level, double now);
    /// What was suppressed in the windows that are over; each is told once.
    std::vector<summary> take_summaries(double now);
    /// What was suppressed in all windows, over or not.
    std::vector<summary> take_all() { return take_summaries(std::numeric_limits<double>::infinity()); }

private:
    struct entry {
        double since;
        unsigned left;
        std::uint8_t level;
        std::uint64_t suppressed = 0;
    };

    std::map<std::pair<std::string, std::string>, entry> entries_;
    double next_end_ = std::numeric_limits<double>::infinity(); ///< no window ends before
};

} // namespace rivulet::platform
