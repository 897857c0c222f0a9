#include "transport/zmq/zmq_inlet_link.hpp"

#include "transport/io_context.hpp"
#include "transport/zmq/zmq_bind.hpp"
#include "transport/zmq/zmq_security.hpp"
#include "wire/zmq_parts.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>

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

constexpr std::size_t frame_overhead = 1u << 16;
constexpr auto first_pause = std::chrono::milliseconds(50);
constexpr auto longest_pause = std::chrono::milliseconds(1000);
constexpr int connect_patience_ms = 3000; ///< the kernel's own retries become rare after that

} // namespace

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment) {
    return std::make_unique<zmq_inlet_link>(where, environment);
}

zmq_inlet_link::zmq_inlet_link(const transport::endpoint& where, const inlet_environment& environment)
    : environment_(environment), runtime_(environment.io->backend<zmq_runtime>()), address_(zmq_address(where)),
      socket_(*runtime_, ZMQ_SUB), monitor_(*runtime_, socket_, ZMQ_EVENT_DISCONNECTED | refusal_events),
      poller_(::epoll_create1(EPOLL_CLOEXEC)), pause_(first_pause) {
    socket_.set(ZMQ_RCVHWM, 64);
    socket_.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(environment.max_frame + frame_overhead));
    socket_.set(ZMQ_RECONNECT_IVL, static_cast<int>(first_pause.count()));
    socket_.set(ZMQ_RECONNECT_IVL_MAX, static_cast<int>(longest_pause.count()));
    socket_.set(ZMQ_CONNECT_TIMEOUT, connect_patience_ms);
    socket_.set(ZMQ_IPV6, needs_ipv6(where) ? 1 : 0);
    keep_alive(socket_, where);
    secure_client(socket_, *environment.io->keys, where);
    say_hello();
    connect_socket();
    if (!connected_)
        throw error(errc::bad_endpoint, "endpoint " + where.to_string() + ": cannot connect: " + last_reason() +
                                            "; give a host name or address, and a port");
    for (const int fd : {socket_.get_int(ZMQ_FD), monitor_.fd()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
            throw error(errc::system,
                        "endpoint " + where.to_string() + ": cannot make an epoll descriptor: " + std::strerror(errno));
    }
}

// --- connecting -----------------------------------------------------------------------------------------------------

void zmq_inlet_link::connect_socket() {
    connected_ = connected_ || ::zmq_connect(socket_.get(), address_.c_str()) == 0;
    retry_at_ = time_point::max();
}

void zmq_inlet_link::disconnect_socket() {
    if (std::exchange(connected_, false))
        ::zmq_disconnect(socket_.get(), address_.c_str());
}

void zmq_inlet_link::say_hello() {
    const wire::hello hello = make_hello(environment_);
    token_ = hello.tok;
    hello_ = wire::encode_hello(hello);
    socket_.set(ZMQ_SUBSCRIBE, hello_.data(), hello_.size());
    socket_.set(ZMQ_SUBSCRIBE, token_.data(), token_.size());
    greeted_ = false;
}

/// A new token, and a hello that says where to go on. What still comes under the old one is passed over.
void zmq_inlet_link::start_over() {
    socket_.set(ZMQ_UNSUBSCRIBE, token_.data(), token_.size());
    socket_.set(ZMQ_UNSUBSCRIBE, hello_.data(), hello_.size());
    if (greeted_)
        environment_.sink->on_disconnect(true);
    say_hello();
}

void zmq_inlet_link::reconnect(time_point) {
    if (closed_ || ended_)
        return;
    disconnect_socket();
    start_over();
    connect_socket();
}

/// After all that had come was read: what the monitor says is about what follows.
void zmq_inlet_link::check_connection(time_point now) {
    bool lost = false;
    bool refused = false;
    for (int event = 0, value = -1; monitor_.next(event, value);) {
        lost |= event == ZMQ_EVENT_DISCONNECTED;
        if ((event & refusal_events) == 0)
            continue;
        if (const std::string_view why = refusal_of_us(event, value, environment_.io->keys->curve()); !why.empty())
            refusal_.store(why.data(), std::memory_order_release);
        // libzmq gives the endpoint up after these.
        refused |= event != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
    }
    if (refused)
        environment_.io->log->warn("connection_refused", {{"endpoint", address_}}, trouble());
    if (lost && greeted_ && !ended_)
        start_over();
    if (refused && !ended_)
        try_again(now);
}

std::string zmq_inlet_link::trouble() const {
    const char* const why = refusal_.load(std::memory_order_acquire);
    return why == nullptr ? "" : why;
}

/// Whoever answers there is not whom we look for.
void zmq_inlet_link::try_again(time_point now) {
    disconnect_socket();
    greeted_ = false;
    retry_at_ = now + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
}

void zmq_inlet_link::close() {
    if (closed_)
        return;
    closed_ = true;
    retry_at_ = time_point::max();
    monitor_.stop(socket_);
    socket_.close();
}

// --- receiving ------------------------------------------------------------------------------------------------------

bool zmq_inlet_link::pump(time_point now, std::size_t max_frames) {
    if (closed_)
        return false;
    if (now >= retry_at_) {
        start_over();
        connect_socket();
    }
    std::size_t pumped = 0;
    for (std::size_t i = 0; i < max_frames && pumped < pump_bytes; ++i) {
        if (!environment_.sink->ready_for_data()) {
            (void)socket_.get_int(ZMQ_EVENTS); // libzmq's own errands go on, or its descriptor stays readable
            return false;
        }
        if (!message_.receive(socket_.get())) {
            if (i == 0)
                check_connection(now);
            return false;
        }
        pumped += message_.size() == 0 ? 0 : message_.part(message_.size() - 1).size();
        handle(now);
        if (closed_)
            return false;
    }
    return true;
}

void zmq_inlet_link::handle(time_point now) {
    const bool ours = message_.complete() && message_.size() >= 2 && std::ranges::equal(message_.part(0), token_);
    const auto kind = ours ? wire::peek_kind(message_.part(1)) : std::nullopt;
    if (!kind)
        return environment_.sink->on_ignored();
    switch (static_cast<wire::frame_kind>(*kind)) {
    case wire::frame_kind::info: return handle_info(now);
    case wire::frame_kind::data: return handle_data();
    case wire::frame_kind::keep_alive:
    case wire::frame_kind::end: return handle_status();
    case wire::frame_kind::request:
    case wire::frame_kind::reply: break;
    }
    environment_.sink->on_ignored();
}

void zmq_inlet_link::handle_info(time_point now) {
    wire::info_frame info;
    const auto next = message_.size() == 3 ? wire::decode_sequence(message_.part(2)) : std::nullopt;
    if (!next || wire::decode_info(message_.part(1), info) != wire::frame_error::none)
        return environment_.sink->on_ignored();
    try {
        validate(info.info);
    } catch (const error&) {
        return environment_.sink->on_ignored();
    }
    if (greeted_ && info.info.uid == uid_)
        return start_over(); // it had lost us, and we did not know what to ask for
    greeted_ = true;
    refusal_.store(nullptr, std::memory_order_release);
    uid_ = info.info.uid;
    switch (environment_.sink->on_greeting(info, *next, nullptr)) {
    case greeting_answer::go_on: pause_ = first_pause; return;
    case greeting_answer::try_again: return try_again(now);
    case greeting_answer::close: return close();
    }
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
        ended_ = true;
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
