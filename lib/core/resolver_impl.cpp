#include "core/resolver_impl.hpp"

#include "platform/wait.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace rivulet::detail {

using platform::clock;
using platform::time_point;

namespace {

constexpr std::size_t most_others = 8;

void sort(std::vector<found_stream>& streams) {
    std::ranges::sort(streams, [](const found_stream& a, const found_stream& b) {
        return std::tie(a.info.name, a.info.source_id, a.info.uid) <
               std::tie(b.info.name, b.info.source_id, b.info.uid);
    });
}

void sort_ways(std::vector<found_stream>& ways) {
    std::ranges::stable_sort(ways, {}, [](const found_stream& s) { return s.info.relays.size(); });
}

} // namespace

resolver_impl::resolver_impl(stream_selector selector, const std::optional<context>& ctx, bool keeps_events)
    : ctx_(usable(ctx)), selector_(std::move(selector)), keeps_events_(keeps_events) {
    if (!wait_fd_)
        throw error(errc::system, std::string("resolver: cannot make an eventfd: ") + std::strerror(errno));
    ctx_->discovery.add(*this);
}

resolver_impl::~resolver_impl() { close(); }

void resolver_impl::close() {
    if (inert())
        return;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(closed_, true))
            return;
        wait_fd_.set();
    }
    changed_.notify_all();
    ctx_->discovery.remove(*this);
}

void resolver_impl::on_stream(const stream_event& event) {
    const std::lock_guard calling(callback_mutex_);
    const bool meant = matches(selector_, event.stream);
    const bool gone = event.what == stream_event::kind::disappeared;
    const std::string& uid = event.stream.info.uid;
    std::vector<stream_event> told;
    {
        const std::lock_guard lock(mutex_);
        if (!meant && !gone && others_.size() < most_others)
            others_[uid] = event.stream.info.name;
        const std::string& group = selector_.way == via::direct ? event.stream.info.lineage() : uid;
        const auto at = streams_.find(group);
        const std::optional<found_stream> before = at == streams_.end() ? std::nullopt : std::optional(at->second[0]);
        const bool changed = meant && !gone ? put(streams_[group], event.stream) : take(group, uid);
        if (!changed)
            return;
        const auto after = streams_.find(group);
        const found_stream* const shown = after == streams_.end() ? nullptr : &after->second[0];
        if (before && shown && before->info.uid == shown->info.uid) {
            if (shown->info.uid != uid)
                return;
            told.push_back({stream_event::kind::changed, *shown});
        } else {
            if (before)
                told.push_back({stream_event::kind::disappeared, *before});
            if (shown)
                told.push_back({stream_event::kind::appeared, *shown});
            originals_ -= before && before->info.origin.empty() ? 1 : 0;
            originals_ += shown && shown->info.origin.empty() ? 1 : 0;
        }
        if (keeps_events_) {
            events_.insert(events_.end(), told.begin(), told.end());
            wait_fd_.set();
        }
    }
    changed_.notify_all();
    for (const stream_event& one : told)
        if (const auto callback = callback_)
            callback(one);
}

/// Of equally short ways the one that is shown stays.
bool resolver_impl::put(std::vector<found_stream>& ways, const found_stream& stream) {
    const auto same = std::ranges::find(ways, stream.info.uid, [](const auto& s) { return s.info.uid; });
    if (same == ways.end())
        ways.push_back(stream);
    else
        *same = stream;
    sort_ways(ways);
    return true;
}

bool resolver_impl::take(const std::string& group, const std::string& uid) {
    const auto at = streams_.find(group);
    if (at == streams_.end() || std::erase_if(at->second, [&](const auto& s) { return s.info.uid == uid; }) == 0)
        return false;
    if (at->second.empty())
        streams_.erase(at);
    else
        sort_ways(at->second);
    return true;
}

void resolver_impl::on_settled() {
    {
        const std::lock_guard lock(mutex_);
        settled_ = true;
        wait_fd_.set();
    }
    changed_.notify_all();
}

std::vector<found_stream> resolver_impl::streams() const {
    std::vector<found_stream> out;
    if (inert())
        return out;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [group, ways] : streams_)
            out.push_back(ways[0]);
    }
    sort(out);
    return out;
}

bool resolver_impl::settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
}

std::vector<std::string> resolver_impl::others() const {
    std::vector<std::string> names;
    if (inert())
        return names;
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, name] : others_)
        names.push_back(name);
    return names;
}

std::vector<stream_event> resolver_impl::take_events() {
    if (inert())
        return {};
    const std::lock_guard lock(mutex_);
    if (!closed_)
        wait_fd_.clear();
    return std::exchange(events_, {});
}

void resolver_impl::set_callback(std::function<void(const stream_event&)> callback) {
    if (inert())
        return;
    const std::lock_guard calling(callback_mutex_);
    callback_ = std::move(callback);
    if (!callback_)
        return;
    for (found_stream& stream : streams())
        callback_({stream_event::kind::appeared, std::move(stream)});
}

template<class Condition>
bool resolver_impl::wait(std::chrono::nanoseconds timeout, Condition condition) const {
    if (inert())
        return false;
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return closed_ || condition(); };
    platform::wait_until(changed_, lock, platform::deadline_after(clock::now(), timeout), ready);
    return condition();
}

bool resolver_impl::wait_for(std::size_t count, std::chrono::nanoseconds timeout) const {
    // A relayed stream counts once its original would have answered.
    return wait(timeout,
                [&] { return (settled_ || selector_.way == via::any ? streams_.size() : originals_) >= count; });
}

bool resolver_impl::wait_until_settled(std::chrono::nanoseconds timeout) const {
    return wait(timeout, [&] { return settled_; });
}

} // namespace rivulet::detail
