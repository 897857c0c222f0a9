#include "transport/zmq/zmq_inlet_link.hpp"

#include "transport/io_context.hpp"
#include "wire/zmq_parts.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <netdb.h>
#include <sys/socket.h>

namespace rivulet::transport::zmq {
namespace {

/// libzmq tries the first address of a name only: IPv6 only where the name has nothing else.
bool needs_ipv6(const transport::endpoint& where) {
    if (where.kind != transport::endpoint::family::tcp)
        return false;
    if (where.ipv6_literal())
        return true;
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const bool has_ipv4 = ::getaddrinfo(where.host.c_str(), nullptr, &hints, &found) == 0;
    if (found)
        ::freeaddrinfo(found);
    return !has_ipv4;
}

std::string address_of(const transport::endpoint& where) {
    if (where.kind != transport::endpoint::family::tcp)
        return "ipc://" + where.path;
    const std::string host = where.ipv6_literal() ? '[' + where.host + ']' : where.host;
    return "tcp://" + host + ':' + std::to_string(where.port);
}

constexpr std::size_t frame_overhead = 1u << 16;

} // namespace

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment) {
    return std::make_unique<zmq_inlet_link>(where, environment);
}

zmq_inlet_link::zmq_inlet_link(const transport::endpoint& where, const inlet_environment& environment)
    : environment_(environment), runtime_(environment.io->backend<zmq_runtime>()), token_(wire::make_token()),
      socket_(*runtime_, ZMQ_SUB) {
    socket_.set(ZMQ_RCVHWM, 64);
    socket_.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(environment.max_frame + frame_overhead));
    socket_.set(ZMQ_RECONNECT_IVL, 50);
    socket_.set(ZMQ_RECONNECT_IVL_MAX, 1000);
    socket_.set(ZMQ_IPV6, needs_ipv6(where) ? 1 : 0);
    if (where.kind == transport::endpoint::family::tcp) {
        socket_.set(ZMQ_TCP_KEEPALIVE, 1);
        socket_.set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
        socket_.set(ZMQ_TCP_KEEPALIVE_INTVL, 5);
        socket_.set(ZMQ_TCP_KEEPALIVE_CNT, 3);
    }
    wire::hello hello;
    hello.tok = token_;
    hello.name = environment.name;
    if (const auto history = environment.start.history; history.count() > 0)
        hello.history_ns = history == forever ? UINT64_MAX : static_cast<std::uint64_t>(history.count());
    const std::vector<std::byte> topic = wire::encode_hello(hello);
    socket_.set(ZMQ_SUBSCRIBE, topic.data(), topic.size());
    socket_.set(ZMQ_SUBSCRIBE, token_.data(), token_.size());
    if (::zmq_connect(socket_.get(), address_of(where).c_str()) != 0)
        throw error(errc::bad_endpoint, "endpoint " + where.to_string() + ": cannot connect: " + last_reason() +
                                            "; give a host name or address, and a port");
    fd_ = socket_.get_int(ZMQ_FD);
}

void zmq_inlet_link::close() {
    if (closed_)
        return;
    closed_ = true;
    socket_.close();
}

bool zmq_inlet_link::pump(time_point, std::size_t max_frames) {
    if (closed_)
        return false;
    for (std::size_t i = 0; i < max_frames; ++i) {
        if (!environment_.sink->ready_for_data()) {
            (void)socket_.get_int(ZMQ_EVENTS); // libzmq's own errands go on, or its descriptor stays readable
            return false;
        }
        if (!message_.receive(socket_.get()))
            return false;
        handle();
        if (closed_)
            return false;
    }
    return true;
}

void zmq_inlet_link::handle() {
    const bool ours = message_.complete() && message_.size() >= 2 && std::ranges::equal(message_.part(0), token_);
    const auto kind = ours ? wire::peek_kind(message_.part(1)) : std::nullopt;
    if (!kind)
        return environment_.sink->on_ignored();
    switch (static_cast<wire::frame_kind>(*kind)) {
    case wire::frame_kind::info: return handle_info();
    case wire::frame_kind::data: return handle_data();
    case wire::frame_kind::keep_alive:
    case wire::frame_kind::end: return handle_status();
    case wire::frame_kind::request:
    case wire::frame_kind::reply: break;
    }
    environment_.sink->on_ignored();
}

void zmq_inlet_link::handle_info() {
    wire::info_frame info;
    const auto next = message_.size() == 3 ? wire::decode_sequence(message_.part(2)) : std::nullopt;
    if (!next || wire::decode_info(message_.part(1), info) != wire::frame_error::none)
        return environment_.sink->on_ignored();
    try {
        validate(info.info);
    } catch (const error&) {
        return environment_.sink->on_ignored();
    }
    greeted_ = true;
    if (!environment_.sink->on_greeting(info, *next, nullptr))
        close();
}

/// Everything after the token as one frame, for messages that are cut otherwise than into head and payload.
wire::bytes_view zmq_inlet_link::joined_frame() {
    if (message_.size() == 2)
        return message_.part(1);
    joined_.clear();
    for (std::size_t i = 1; i < message_.size(); ++i) {
        const wire::bytes_view part = message_.part(i);
        joined_.insert(joined_.end(), part.begin(), part.end());
    }
    return joined_;
}

void zmq_inlet_link::handle_data() {
    if (!greeted_)
        return environment_.sink->on_ignored();
    wire::data_view frame;
    auto failed = wire::frame_error::truncated;
    std::size_t bytes = 0;
    if (message_.size() == 3) {
        failed = parser_.parse(message_.part(1), message_.part(2), frame);
        bytes = message_.part(1).size() + message_.part(2).size();
    }
    if (failed != wire::frame_error::none) {
        const wire::bytes_view whole = joined_frame();
        bytes = whole.size();
        failed = parser_.parse(whole, std::nullopt, frame);
    }
    if (failed != wire::frame_error::none || bytes > environment_.max_frame + frame_overhead)
        return environment_.sink->on_ignored();
    environment_.sink->on_data(frame, bytes);
}

void zmq_inlet_link::handle_status() {
    wire::status_frame status;
    if (!greeted_ || wire::decode_status(joined_frame(), status) != wire::frame_error::none)
        return environment_.sink->on_ignored();
    if (status.kind == wire::frame_kind::end) {
        // The outlet may close as soon as it sees that we have given up our token.
        socket_.set(ZMQ_UNSUBSCRIBE, token_.data(), token_.size());
        (void)socket_.get_int(ZMQ_EVENTS);
    }
    environment_.sink->on_status(status);
}

// --- message --------------------------------------------------------------------------------------------------------

zmq_inlet_link::message::message() : parts_(max_parts) {
    for (zmq_msg_t& part : parts_)
        ::zmq_msg_init(&part);
}

zmq_inlet_link::message::~message() {
    for (zmq_msg_t& part : parts_)
        ::zmq_msg_close(&part);
}

bool zmq_inlet_link::message::receive(void* socket) {
    used_ = 0;
    complete_ = true;
    for (;;) {
        // What does not fit is read into the last part and forgotten.
        zmq_msg_t& part = parts_[std::min(used_, max_parts - 1)];
        if (::zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0)
            return false; // between messages only: libzmq delivers whole ones
        complete_ = complete_ && used_ < max_parts;
        ++used_;
        if (!::zmq_msg_more(&part))
            return true;
    }
}

wire::bytes_view zmq_inlet_link::message::part(std::size_t i) const noexcept {
    zmq_msg_t& m = parts_[i];
    return {static_cast<const std::byte*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m)};
}

} // namespace rivulet::transport::zmq
