#include "transport/zmq/zmq_service_connection.hpp"

#include "transport/io_context.hpp"
#include "transport/zmq/zmq_bind.hpp"
#include "transport/zmq/zmq_security.hpp"

#include <sys/epoll.h>
#include <zmq.h>

namespace rivulet::transport::zmq {
namespace {

constexpr int high_water = 2048; ///< messages; more than may be on their way
constexpr int handshake_ms = 5000;
constexpr int replies_a_turn = 64;

/// All that says that it is open, or never will be, or is no more.
constexpr int watched_events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                               ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED;

} // namespace

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes) {
    const auto made = std::make_shared<zmq_service_connection>(where, io, sink, max_reply_bytes);
    made->start(where);
    return made;
}

zmq_service_connection::zmq_service_connection(const endpoint& where, io_context& io, reply_sink& sink,
                                               std::size_t max_reply_bytes)
    : io_(io), sink_(sink), runtime_(io.backend<zmq_runtime>()), socket_(*runtime_, ZMQ_DEALER),
      monitor_(*runtime_, socket_, watched_events) {
    socket_.set(ZMQ_RECONNECT_IVL, -1);
    socket_.set(ZMQ_IMMEDIATE, 1);
    socket_.set(ZMQ_SNDHWM, high_water);
    socket_.set(ZMQ_RCVHWM, high_water);
    socket_.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(max_reply_bytes) + curve_overhead);
    socket_.set(ZMQ_HANDSHAKE_IVL, handshake_ms);
    socket_.set(ZMQ_IPV6, where.ipv6_literal() ? 1 : 0);
    keep_alive(socket_, where);
    secure_client(socket_, *io.keys, where);
}

void zmq_service_connection::start(const endpoint& where) {
    const std::lock_guard lock(mutex_);
    io_.io.watch(monitor_.fd(), EPOLLIN, *this);
    io_.io.watch(socket_.get_int(ZMQ_FD), EPOLLIN, *this);
    if (::zmq_connect(socket_.get(), zmq_address(where).c_str()) != 0)
        phase_ = phase::broken;
    io_.io.post(*this);
}

void zmq_service_connection::close() {
    {
        const std::lock_guard lock(mutex_);
        if (phase_ == phase::closed)
            return;
        phase_ = phase::closed;
    }
    io_.io.forget(*this);
    const std::lock_guard lock(mutex_);
    shut_locked();
}

void zmq_service_connection::shut_locked() {
    if (!socket_.get())
        return;
    monitor_.stop(socket_);
    socket_.close();
}

bool zmq_service_connection::send(std::vector<std::byte> frame) {
    const std::lock_guard lock(mutex_);
    if (phase_ != phase::open || ::zmq_send(socket_.get(), frame.data(), frame.size(), ZMQ_DONTWAIT) < 0)
        return false;
    if ((socket_.get_int(ZMQ_EVENTS) & ZMQ_POLLIN) != 0) // sending takes notice of what came, once
        io_.io.post(*this);
    return true;
}

/// What the monitor has to say: the new phase.
zmq_service_connection::phase zmq_service_connection::read_events() {
    for (int event = 0, value = -1; monitor_.next(event, value);) {
        if ((event & refusal_events) != 0 && refusal_.empty())
            refusal_ = refusal_of_us(event, value, io_.keys->curve());
        if (event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            phase_ = phase::broken;
        else if (phase_ == phase::connecting)
            phase_ = phase::open;
    }
    return phase_;
}

void zmq_service_connection::deliver() {
    for (int i = 0; i < replies_a_turn; ++i) {
        std::vector<std::byte> frame;
        {
            const std::lock_guard lock(mutex_);
            if (phase_ == phase::closed)
                return;
            zmq_msg_t part;
            ::zmq_msg_init(&part);
            const bool got = ::zmq_msg_recv(&part, socket_.get(), ZMQ_DONTWAIT) >= 0;
            if (got) {
                const auto* const data = static_cast<const std::byte*>(::zmq_msg_data(&part));
                frame.assign(data, data + ::zmq_msg_size(&part));
                while (::zmq_msg_more(&part) && ::zmq_msg_recv(&part, socket_.get(), ZMQ_DONTWAIT) >= 0) {
                }
            }
            ::zmq_msg_close(&part);
            if (!got)
                return;
        }
        sink_.on_reply(frame);
    }
    io_.io.post(*this);
}

void zmq_service_connection::on_ready(int, std::uint32_t) { on_turn(platform::clock::now()); }

void zmq_service_connection::on_turn(platform::time_point) {
    const auto self = weak_from_this().lock();
    phase now_in = phase::closed;
    bool opened = false;
    {
        const std::lock_guard lock(mutex_);
        if (phase_ == phase::closed || told_)
            return;
        now_in = read_events();
        opened = now_in == phase::open && !was_open_;
        was_open_ |= opened;
    }
    if (opened)
        sink_.on_open();
    deliver(); // also what came before the end
    if (now_in != phase::broken)
        return;
    {
        const std::lock_guard lock(mutex_);
        if (phase_ == phase::closed)
            return;
        told_ = true;
        io_.io.unwatch(monitor_.fd());
        io_.io.unwatch(socket_.get_int(ZMQ_FD));
    }
    sink_.on_broken(was_open_          ? "the other side closed the connection"
                    : refusal_.empty() ? "nobody answers there"
                                       : refusal_);
}

} // namespace rivulet::transport::zmq
