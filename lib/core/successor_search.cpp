#include "core/successor_search.hpp"

#include <algorithm>
#include <tuple>

namespace rivulet::core {
namespace {

constexpr auto endpoint_patience = std::chrono::seconds(1);
/// Outlets answer a search within milliseconds: one that has not by then is not there.
constexpr auto answer_patience = std::chrono::seconds(1);

} // namespace

using platform::time_point;

successor_search::successor_search(discovery::beacon_service& service, const stream_info& lost,
                                   std::function<void()> changed)
    : uid_(lost.uid), lineage_(lost.lineage()), most_relays_(lost.relays.size()), changed_(std::move(changed)),
      began_(platform::clock::now()), look_again_at_(began_ + answer_patience),
      watch_(service, lost.source_id, "", [this](const stream_event& event) { on_event(event); }) {}

void successor_search::on_event(const stream_event& event) {
    if (event.what == stream_event::kind::disappeared)
        seen_.erase(event.stream.info.uid);
    else if (event.stream.info.relays.size() <= most_relays_)
        seen_[event.stream.info.uid] = event.stream;
    changed_();
}

std::optional<std::string> successor_search::next(time_point now) {
    auto found = seen_.find(uid_);
    if (found == seen_.end() && now >= began_ + answer_patience)
        found = std::ranges::max_element(seen_, {}, [this](const auto& one) {
            const stream_info& info = one.second.info;
            return std::tuple(info.lineage() == lineage_, -static_cast<int>(info.relays.size()), info.created_at);
        });
    if (found == seen_.end() || found->second.endpoints.empty())
        return std::nullopt;
    if (trying_ != found->first) {
        trying_ = found->first;
        turn_ = 0;
    } else if (now < look_again_at_) {
        return std::nullopt;
    }
    look_again_at_ = now + endpoint_patience;
    return found->second.endpoints[turn_++ % found->second.endpoints.size()];
}

} // namespace rivulet::core
