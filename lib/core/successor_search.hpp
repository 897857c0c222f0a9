#pragma once

#include "discovery/source_watch.hpp"
#include "platform/futex.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rivulet::core {

/// Where a lost stream may be found again, as beacons tell: its own outlet at any of its endpoints, or, when that one
/// is not heard of any more, another outlet of the same source: the same stream by another relay first. Never one that
/// has passed more relays than the lost one: it may come from there. Threads: the I/O thread.
class successor_search {
public:
    /// @param changed called on the I/O thread when there may be a candidate. @throws error not_supported.
    successor_search(discovery::beacon_service& service, const stream_info& lost, std::function<void()> changed);

    /// The endpoint to try now; nothing while the one before has its time, or nobody was found.
    std::optional<std::string> next(platform::time_point now);
    /// When next() may have another answer, though nothing changes.
    platform::time_point look_again_at() const noexcept { return look_again_at_; }

private:
    void on_event(const stream_event& event);

    const std::string uid_;
    const std::string lineage_;
    const std::size_t most_relays_;
    const std::function<void()> changed_;
    const platform::time_point began_;
    std::map<std::string, found_stream> seen_; ///< by uid
    std::string trying_;                       ///< uid
    std::size_t turn_ = 0;
    platform::time_point look_again_at_;
    discovery::source_watch watch_; ///< last: it calls on_event
};

} // namespace rivulet::core
