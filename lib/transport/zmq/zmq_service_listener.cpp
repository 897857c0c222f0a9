#include "transport/zmq/zmq_service_listener.hpp"

#include "platform/tsan.hpp"
#include "transport/io_context.hpp"
#include "transport/zmq/zmq_bind.hpp"
#include "transport/zmq/zmq_security.hpp"
#include "wire/service_frame.hpp"

#include <algorithm>
#include <sys/epoll.h>
#include <tuple>
#include <utility>
#include <zmq.h>

namespace rivulet::transport::zmq {
namespace {

using namespace std::chrono_literals;
using platform::clock;
using platform::time_point;

constexpr std::size_t max_connections = 1000;
constexpr auto silence_patience = 10s;
constexpr int handshake_ms = 5000;
constexpr int requests_high_water = 64;
constexpr int replies_high_water = 2048;             ///< more than an asker of ours may have asked for
constexpr std::size_t max_waiting_bytes = 16u << 20; ///< then further replies to that asker are dropped
constexpr int requests_a_turn = 32;

/// A received message part.
class part {
public:
    part() { ::zmq_msg_init(&message_); }
    ~part() { ::zmq_msg_close(&message_); }
    part(const part&) = delete;
    part& operator=(const part&) = delete;

    bool receive(void* socket) { return ::zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0; }
    bool more() const noexcept { return ::zmq_msg_more(&message_) != 0; }
    wire::bytes_view bytes() noexcept {
        return {static_cast<const std::byte*>(::zmq_msg_data(&message_)), ::zmq_msg_size(&message_)};
    }
    int descriptor() noexcept { return ::zmq_msg_get(&message_, ZMQ_SRCFD); }

private:
    zmq_msg_t message_;
};

/// A message in libzmq's hands that counts until it is written.
struct counted_frame {
    std::vector<std::byte> bytes;
    std::shared_ptr<std::atomic<std::size_t>> waiting;
};

void release(void*, void* hint) noexcept {
    platform::take_over(hint);
    const std::unique_ptr<counted_frame> frame(static_cast<counted_frame*>(hint));
    frame->waiting->fetch_sub(frame->bytes.size(), std::memory_order_relaxed);
}

void send_counted(void* socket, std::vector<std::byte> bytes, std::shared_ptr<std::atomic<std::size_t>> waiting) {
    auto frame = std::make_unique<counted_frame>(counted_frame{std::move(bytes), std::move(waiting)});
    frame->waiting->fetch_add(frame->bytes.size(), std::memory_order_relaxed);
    void* const data = frame->bytes.data();
    const std::size_t size = frame->bytes.size();
    counted_frame* const given = frame.release();
    platform::hand_over(given); // not looked at from here on
    zmq_msg_t message;
    ::zmq_msg_init_data(&message, data, size, release, given);
    if (::zmq_msg_send(&message, socket, ZMQ_DONTWAIT) < 0)
        ::zmq_msg_close(&message);
}

} // namespace

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink) {
    const auto made = std::make_shared<zmq_service_listener>(where, io, sink);
    made->start();
    return made;
}

zmq_service_listener::zmq_service_listener(const transport::endpoint& where, io_context& io, request_sink& sink)
    : io_(io), sink_(sink), runtime_(io.backend<zmq_runtime>()), socket_(*runtime_, ZMQ_ROUTER),
      watch_(*runtime_, socket_, io.keys->curve()) {
    try {
        socket_.set(ZMQ_SNDHWM, replies_high_water);
        socket_.set(ZMQ_RCVHWM, requests_high_water);
        socket_.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(wire::max_request_bytes) + curve_overhead);
        socket_.set(ZMQ_HANDSHAKE_IVL, handshake_ms);
        socket_.set(ZMQ_BACKLOG, 1024);
        keep_alive(socket_, where);
        transport::endpoint actual = where;
        secure_server(socket_, *io.keys, actual);
        guard_ = guard_path(actual);
        actual.port = bind(socket_, actual, io.settings.ports);
        endpoint_ = actual.to_string();
    } catch (...) {
        watch_.stop(socket_);
        throw;
    }
}

void zmq_service_listener::start() {
    io_.io.watch(socket_.get_int(ZMQ_FD), EPOLLIN, *this);
    io_.io.watch(watch_.fd(), EPOLLIN, *this);
    io_.io.post(*this);
}

void zmq_service_listener::close() {
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        closed_ = true;
    }
    io_.io.forget(*this);
    const std::lock_guard lock(mutex_);
    watch_.stop(socket_);
    socket_.close();
    guard_.reset();
}

/// One request of any form that makes sense: [routing id][frame], or [routing id][][frame] from a REQ socket.
bool zmq_service_listener::receive(request& out, time_point now) {
    part id;
    if (!id.receive(socket_.get()))
        return false;
    const std::string route(reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size());
    std::vector<std::vector<std::byte>> parts;
    int descriptor = -1;
    std::size_t bytes = 0;
    for (bool more = id.more(); more;) {
        part next;
        if (!next.receive(socket_.get()))
            break; // between messages only: libzmq delivers whole ones
        descriptor = next.descriptor();
        bytes += next.bytes().size();
        if (parts.size() < 3 && bytes <= wire::max_request_bytes) // more parts than any request has are not kept
            parts.emplace_back(next.bytes().begin(), next.bytes().end());
        else
            parts.resize(3);
        more = next.more();
    }
    watch_.drain(); // ACCEPTED comes before anything that the connection sends
    peer& from = peers_[route];
    const connection link = watch_.find(descriptor);
    if (from.id == 0 || !(from.link == link)) {
        routes_.erase(from.id);
        from.id = next_id_++;
        routes_[from.id] = route;
        from.link = link;
        from.waiting = std::make_shared<std::atomic<std::size_t>>(0);
    }
    connections_[{link.fd, link.serial}] = {true, now};
    from.delimited = parts.size() == 2 && parts.front().empty();
    out.from = from.id;
    out.frame.clear();
    if (parts.size() == 1 || from.delimited)
        out.frame = std::move(parts.back());
    return true;
}

/// Forgets who has gone. Who never asks anything goes after a while; beyond the limit at once, the oldest first, and
/// then whoever has been quiet for longest.
void zmq_service_listener::limit_connections(time_point now) {
    watch_.drain();
    if (const std::uint64_t refused = watch_.refused(); refused != std::exchange(refusals_told_, refused))
        io_.log->log(watch_.refusal_certain() ? platform::log_level::warn : platform::log_level::info,
                     "connection_refused", {{"endpoint", endpoint_}, {"refused", refused}},
                     "refused a connection: " + std::string(watch_.last_refusal()));
    std::erase_if(connections_, [this](const auto& entry) {
        return !watch_.alive({entry.first.first, entry.first.second});
    });
    watch_.for_each([&](const connection& c) { connections_.try_emplace({c.fd, c.serial}, activity{false, now}); });
    if (peers_.size() > 2 * connections_.size() + 64)
        std::erase_if(peers_, [this](const auto& entry) {
            if (watch_.alive(entry.second.link))
                return false;
            routes_.erase(entry.second.id);
            return true;
        });
    time_point next = time_point::max();
    for (const auto& [key, seen] : connections_) {
        if (seen.asked)
            continue;
        if (now - seen.since >= silence_patience)
            watch_.shut_down({key.first, key.second}, false);
        else
            next = std::min(next, seen.since + silence_patience);
    }
    if (connections_.size() > max_connections) {
        using entry = decltype(connections_)::value_type;
        const auto quietest = std::ranges::min_element(connections_, {}, [](const entry& e) {
            return std::tuple(e.second.asked, e.second.since, e.first.second);
        });
        watch_.shut_down({quietest->first.first, quietest->first.second}, false);
        next = std::min(next, now + 10ms); // one at a time: libzmq has to notice first
    }
    io_.io.schedule(*this, next);
}

void zmq_service_listener::reply(asker to, std::vector<std::byte> frame) {
    const std::lock_guard lock(mutex_);
    const auto route = routes_.find(to);
    if (closed_ || route == routes_.end())
        return;
    const auto& id = route->second;
    peer& asking = peers_[id];
    if (asking.waiting->load(std::memory_order_relaxed) > max_waiting_bytes)
        return; // it does not read what it asked for
    // Neither blocks nor fails: to an asker that is gone it goes nowhere.
    ::zmq_send(socket_.get(), id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (asking.delimited)
        ::zmq_send(socket_.get(), "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    send_counted(socket_.get(), std::move(frame), asking.waiting);
    if ((socket_.get_int(ZMQ_EVENTS) & ZMQ_POLLIN) !=
        0) // sending takes notice of what came, and its descriptor does not say so again
        io_.io.post(*this);
}

void zmq_service_listener::on_ready(int, std::uint32_t) { on_turn(clock::now()); }

void zmq_service_listener::on_turn(time_point now) {
    request next;
    for (int i = 0; i < requests_a_turn; ++i) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_)
                return;
            if (i == 0)
                limit_connections(now);
            if (!receive(next, now))
                return;
        }
        if (!next.frame.empty())
            sink_.on_request(*this, next.from, next.frame);
    }
    io_.io.post(*this);
}

} // namespace rivulet::transport::zmq
