#include "core/resolver_impl.hpp"

#include "platform/futex.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

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
    const std::string& uid = event.stream.info.uid;
    stream_event told = event;
    {
        const std::lock_guard lock(mutex_);
        const bool known = streams_.contains(uid);
        if (!meant || event.what == stream_event::kind::disappeared) {
            if (!meant && event.what != stream_event::kind::disappeared && others_.size() < most_others)
                others_[uid] = event.stream.info.name;
            if (!known)
                return;
            streams_.erase(uid);
            told.what = stream_event::kind::disappeared; // also when it no longer matches
        } else {
            streams_[uid] = event.stream;
            told.what = known ? stream_event::kind::changed : stream_event::kind::appeared;
        }
        if (keeps_events_) {
            events_.push_back(told);
            wait_fd_.set();
        }
    }
    changed_.notify_all();
    if (const auto callback = callback_)
        callback(told);
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
        for (const auto& [uid, stream] : streams_)
            out.push_back(stream);
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
    const time_point deadline = platform::deadline_after(clock::now(), timeout);
    if (deadline == time_point::max())
        changed_.wait(lock, ready);
    else
        changed_.wait_until(lock, deadline, ready);
    return condition();
}

bool resolver_impl::wait_for(std::size_t count, std::chrono::nanoseconds timeout) const {
    return wait(timeout, [&] { return streams_.size() >= count; });
}

bool resolver_impl::wait_until_settled(std::chrono::nanoseconds timeout) const {
    return wait(timeout, [&] { return settled_; });
}

} // namespace rivulet::detail
