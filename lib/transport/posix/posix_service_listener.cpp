#include "transport/posix/posix_service_listener.hpp"

#include "transport/io_context.hpp"
#include "transport/posix/socket.hpp"
#include "wire/service_frame.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace rivulet::transport::posix {
namespace {

using namespace std::chrono_literals;
using platform::clock;
using platform::time_point;

constexpr std::size_t max_connections = 1000;
constexpr std::size_t max_unsent_bytes = 4u << 20;   ///< then no more requests are read from that connection
constexpr std::size_t max_pending_bytes = 64u << 20; ///< of requests that are not complete, all connections together
constexpr std::size_t read_budget = 256u << 10;      ///< a connection and turn
constexpr auto request_patience = 5s;
constexpr auto silence_patience = 10s;
constexpr auto reply_patience = 10s;

} // namespace

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink) {
    const auto made = std::make_shared<posix_service_listener>(where, io, sink);
    made->start();
    return made;
}

posix_service_listener::connection::connection(platform::unique_fd fd, asker number, time_point now)
    : stream(std::move(fd), wire::max_request_bytes), id(number), quiet_since(now) {}

posix_service_listener::posix_service_listener(const transport::endpoint& where, io_context& io, request_sink& sink)
    : io_(io), sink_(sink), where_(where), listener_(io) {
    guard_ = guard_path(where_);
    endpoint_ = listener_.listen(where_).to_string();
}

void posix_service_listener::start() { io_.io.watch(listener_.fd(), EPOLLIN, *this); }

void posix_service_listener::close() {
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        closed_ = true;
    }
    io_.io.forget(*this);
    const std::lock_guard lock(mutex_);
    by_id_.clear();
    connections_.clear();
    listener_.close();
    guard_.reset();
}

// --- connections ----------------------------------------------------------------------------------------------------

void posix_service_listener::admit(platform::unique_fd fd, time_point now) {
    if (connections_.size() >= max_connections) {
        // Those who never said anything make room first, then who has been quiet for longest.
        const auto quietest = std::ranges::min_element(connections_, {}, [](const auto& entry) {
            return std::pair(entry.second->said_something, entry.second->quiet_since);
        });
        quietest->second->broken = true;
        drop_broken();
    }
    configure(fd.get(), where_, io_.settings);
    auto c = std::make_unique<connection>(std::move(fd), next_id_++, now);
    const int key = c->stream.fd();
    c->watched = EPOLLIN;
    io_.io.watch(key, EPOLLIN, *this);
    by_id_[c->id] = c.get();
    connections_[key] = std::move(c);
}

void posix_service_listener::drop_broken() {
    std::erase_if(connections_, [this](const auto& entry) {
        const connection& c = *entry.second;
        if (!c.broken && !(c.ended && c.stream.unsent_bytes() == 0 && !c.stream.has_frame()))
            return false;
        io_.io.unwatch(entry.first);
        by_id_.erase(c.id);
        return true;
    });
}

/// What has run out of time; and when to look again.
void posix_service_listener::drop_late(time_point now) {
    time_point next = listener_.again_at();
    std::size_t pending = 0;
    connection* largest = nullptr;
    for (const auto& [fd, c] : connections_) {
        time_point due = time_point::max();
        if (!c->said_something)
            due = c->quiet_since + silence_patience;
        if (c->begun != time_point::max())
            due = std::min(due, c->begun + request_patience);
        if (c->stalled != time_point::max())
            due = std::min(due, c->stalled + reply_patience);
        c->broken |= now >= due;
        next = std::min(next, due);
        pending += c->stream.pending_bytes();
        if (!largest || c->stream.pending_bytes() > largest->stream.pending_bytes())
            largest = c.get();
    }
    if (pending > max_pending_bytes)
        largest->broken = true;
    drop_broken();
    io_.io.schedule(*this, next == time_point::max() ? next : std::max(next, now + 1ms));
}

// --- requests and replies -------------------------------------------------------------------------------------------

/// A connection that does not take its answers is not asked for more questions.
void posix_service_listener::watch_as_needed(connection& c) {
    std::uint32_t events = 0;
    if (!c.ended && c.stream.unsent_bytes() < max_unsent_bytes)
        events |= EPOLLIN;
    if (c.stream.unsent_bytes() > 0)
        events |= EPOLLOUT;
    if (events == c.watched || closed_)
        return;
    c.watched = events;
    io_.io.change(c.stream.fd(), events);
}

void posix_service_listener::read_from(connection& c, time_point now) {
    if (c.ended)
        return;
    switch (c.stream.read(read_budget)) {
    case framed_stream::state::open: break;
    case framed_stream::state::ended: c.ended = true; break;
    case framed_stream::state::broken: c.broken = true; break;
    }
    if (c.stream.pending_bytes() == 0)
        c.begun = time_point::max();
    else if (c.begun == time_point::max())
        c.begun = now;
}

/// Gives the requests that have come to the sink, without the lock, as the sink answers by reply().
void posix_service_listener::serve(int fd, time_point now) {
    constexpr int at_most = 16; // others want to be served as well
    for (int i = 0; i < at_most; ++i) {
        std::optional<std::vector<std::byte>> frame;
        asker from = 0;
        {
            const std::lock_guard lock(mutex_);
            const auto found = connections_.find(fd);
            if (closed_ || found == connections_.end() || found->second->broken)
                return;
            connection& c = *found->second;
            if (c.stream.unsent_bytes() >= max_unsent_bytes)
                return watch_as_needed(c);
            if (!c.stream.has_frame())
                read_from(c, now);
            frame = c.stream.take_frame();
            if (!frame || c.broken)
                return watch_as_needed(c);
            c.said_something = true;
            c.quiet_since = now;
            c.begun = c.stream.pending_bytes() == 0 ? time_point::max() : now;
            from = c.id;
        }
        sink_.on_request(*this, from, *frame);
    }
    io_.io.post(*this); // there may be more, in our memory or in the kernel's
}

void posix_service_listener::reply(asker to, std::vector<std::byte> frame) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(to);
    if (closed_ || found == by_id_.end())
        return;
    connection& c = *found->second;
    const time_point now = clock::now();
    wrote(c, c.stream.send(std::move(frame)), now);
    if (c.broken || c.ended || c.stalled != time_point::max())
        io_.io.schedule_earlier(*this, c.broken || c.ended ? now : now + reply_patience);
}

void posix_service_listener::wrote(connection& c, bool alive, time_point now) {
    c.broken |= !alive;
    if (c.stream.unsent_bytes() == 0)
        c.stalled = time_point::max();
    else if (c.stalled == time_point::max())
        c.stalled = now;
    watch_as_needed(c);
}

void posix_service_listener::on_ready(int fd, std::uint32_t events) {
    const time_point now = clock::now();
    bool accepts = false;
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        accepts = fd == listener_.fd();
        if (accepts)
            listener_.accept_all(now, endpoint_, [&](platform::unique_fd peer) { admit(std::move(peer), now); });
        else if (const auto found = connections_.find(fd); found != connections_.end()) {
            connection& c = *found->second;
            if (const std::size_t before = c.stream.unsent_bytes(); (events & EPOLLOUT) != 0 && before > 0) {
                const bool alive = c.stream.flush();
                if (c.stream.unsent_bytes() < before)
                    c.stalled = time_point::max(); // slow, but alive
                wrote(c, alive, now);
            }
            c.broken |= (events & (EPOLLERR | EPOLLHUP)) != 0 && (events & EPOLLIN) == 0;
        }
    }
    if (!accepts)
        serve(fd, now);
    const std::lock_guard lock(mutex_);
    if (!closed_)
        drop_late(now);
}

void posix_service_listener::on_turn(time_point now) {
    std::vector<int> waiting;
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        listener_.resume(now);
        for (const auto& [fd, c] : connections_)
            if (c->stream.has_frame())
                waiting.push_back(fd);
    }
    for (const int fd : waiting)
        serve(fd, now);
    const std::lock_guard lock(mutex_);
    if (!closed_)
        drop_late(now);
}

} // namespace rivulet::transport::posix
