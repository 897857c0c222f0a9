#pragma once

#include <algorithm>
#include <cstdint>

namespace rivulet::tools {

/// When the next push of a paced source is due. Deadlines follow from the anchor, not from when a push happened, so
/// lateness does not add up; who falls further behind than `slack` starts afresh from now instead of catching up in a
/// burst. Time is local_clock() seconds and comes from outside.
class pacer {
public:
    /// @param rate_hz samples a second, > 0.
    pacer(double rate_hz, double start) : rate_(rate_hz), anchor_(start), slack_(std::max(2.0 / rate_hz, 0.02)) {}

    double due() const noexcept { return anchor_ + static_cast<double>(since_anchor_) / rate_; }
    /// A push of `samples` begins at `now`, which should be due() or later.
    void pushed(std::uint64_t samples, double now) noexcept {
        if (now - due() > std::max(slack_, static_cast<double>(samples) / rate_)) {
            anchor_ = now;
            since_anchor_ = 0;
            ++restarts_;
        }
        since_anchor_ += samples;
    }
    /// How often it fell too far behind.
    std::uint64_t restarts() const noexcept { return restarts_; }

private:
    double rate_;
    double anchor_;
    double slack_;
    std::uint64_t since_anchor_ = 0;
    std::uint64_t restarts_ = 0;
};

} // namespace rivulet::tools
