#include "platform/log_throttle.hpp"

#include <algorithm>
#include <cmath>

namespace rivulet::platform {

bool log_throttle::admit(std::string_view event, std::string_view subject, std::uint8_t level, double now) {
    std::pair<std::string, std::string> key(event, subject);
    if (entries_.size() >= max_subjects && !entries_.contains(key))
        key.second.clear();
    const auto [found, fresh] = entries_.try_emplace(std::move(key), entry{now, burst, level});
    if (fresh)
        next_end_ = std::min(next_end_, now + window_seconds);
    entry& e = found->second;
    if (e.left == 0) {
        ++e.suppressed;
        return false;
    }
    --e.left;
    return true;
}

std::vector<log_throttle::summary> log_throttle::take_summaries(double now) {
    std::vector<summary> out;
    if (now < next_end_)
        return out;
    next_end_ = std::numeric_limits<double>::infinity();
    for (auto at = entries_.begin(); at != entries_.end();) {
        entry& e = at->second;
        const bool over = now >= e.since + window_seconds;
        if (over && e.suppressed > 0) {
            out.push_back({at->first.first, at->first.second, e.level, e.suppressed});
            e.since = std::isfinite(now) ? now : e.since;
            e.left = 1;
            e.suppressed = 0;
        } else if (over) {
            at = entries_.erase(at);
            continue;
        }
        next_end_ = std::min(next_end_, e.since + window_seconds);
        ++at;
    }
    return out;
}

} // namespace rivulet::platform
