#include "transport/posix/posix_inlet_link.hpp"

#include "transport/io_context.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rivulet::transport::posix {
namespace {

constexpr std::size_t first_capacity = 256u << 10;
constexpr std::size_t frame_overhead = 1u << 16;
constexpr std::size_t length_bytes = 4;
constexpr std::size_t direct_from = 32u << 10; ///< payload bytes still to come that are worth receiving in place
constexpr std::size_t read_ahead = 4096;       ///< beside that: the next frame's head
constexpr auto first_pause = std::chrono::milliseconds(50);
constexpr auto longest_pause = std::chrono::milliseconds(1000);
constexpr std::chrono::milliseconds shortest_sleep{32};
constexpr std::chrono::milliseconds longest_sleep{1 << 16};
constexpr auto connect_patience = std::chrono::seconds(3); ///< the kernel's own retries become rare after that

/// A receive that sleeps is interrupted by signals: whoever pumps looks at the time again.
bool comes_later(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/// With its length in front.
std::vector<std::byte> framed(const wire::hello& hello) {
    std::vector<std::byte> bytes = wire::encode_hello(hello);
    const std::size_t size = bytes.size();
    bytes.insert(bytes.begin(),
                 {std::byte{0}, std::byte{0}, static_cast<std::byte>(size >> 8), static_cast<std::byte>(size)});
    return bytes;
}

std::size_t frame_bytes(const std::byte* at) noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        bytes = bytes << 8 | std::to_integer<std::size_t>(at[i]);
    return bytes;
}

} // namespace

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment) {
    return std::make_unique<posix_inlet_link>(where, environment);
}

posix_inlet_link::posix_inlet_link(const transport::endpoint& where, const inlet_environment& environment)
    : environment_(environment), where_(where), addresses_(resolve(where, endpoint_use::connect)),
      poller_(::epoll_create1(EPOLL_CLOEXEC)), pause_(first_pause) {
    if (!poller_)
        throw error(errc::system,
                    "endpoint " + where.to_string() + ": cannot make an epoll descriptor: " + std::strerror(errno));
    start_connecting(platform::clock::now()); // says at once what the kernel cannot do at all
}

void posix_inlet_link::close() {
    phase_ = phase::done;
    retry_at_ = time_point::max();
    replace_socket({});
}

void posix_inlet_link::replace_socket(platform::unique_fd fresh) {
    const std::lock_guard lock(socket_mutex_);
    socket_ = std::move(fresh);
    sleep_limit_ = {};
}

// --- connecting -----------------------------------------------------------------------------------------------------

void posix_inlet_link::watch(std::uint32_t events) {
    if (events == watched_)
        return;
    epoll_event event{};
    event.events = events;
    ::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, socket_.get(), &event);
    watched_ = events;
}

void posix_inlet_link::start_connecting(time_point now) {
    retry_at_ = time_point::max();
    const socket_address& address = addresses_[next_address_++ % addresses_.size()];
    replace_socket(make_socket(where_, address.family()));
    if (!socket_)
        return lost(now);
    configure(socket_.get(), where_, environment_.io->settings);
    epoll_event event{};
    event.events = watched_ = EPOLLOUT;
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket_.get(), &event) != 0)
        return lost(now);
    infos_ = 0;
    begin_ = end_ = 0;
    direct_left_ = 0;
    if (::connect(socket_.get(), address.get(), address.size) == 0)
        return opened(now);
    if (errno != EINPROGRESS)
        return lost(now);
    phase_ = phase::connecting;
    retry_at_ = now + connect_patience;
}

void posix_inlet_link::finish_connecting(time_point now) {
    if (connect_error(socket_.get()) != 0)
        return lost(now);
    socket_address peer;
    peer.size = sizeof peer.storage;
    if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0)
        return now < retry_at_ ? void() : lost(now); // not yet: the kernel's next try may be far away
    if (connected_to_itself(socket_.get()))
        return lost(now);
    opened(now);
}

void posix_inlet_link::opened(time_point now) {
    phase_ = phase::open;
    retry_at_ = time_point::max();
    watch(EPOLLIN);
    const std::vector<std::byte> hello = framed(make_hello(environment_));
    // A fresh connection's buffer takes a few hundred bytes.
    if (::send(socket_.get(), hello.data(), hello.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(hello.size()))
        lost(now);
}

void posix_inlet_link::reconnect(time_point now) {
    if (phase_ == phase::done)
        return;
    lost(now);
    retry_at_ = now;
}

void posix_inlet_link::lost(time_point now) {
    replace_socket({}); // which takes it out of the poller as well
    if (phase_ == phase::open && infos_ >= 2)
        environment_.sink->on_disconnect(true);
    phase_ = phase::waiting;
    retry_at_ = now + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
}

// --- receiving ------------------------------------------------------------------------------------------------------

bool posix_inlet_link::pump(time_point now, std::size_t max_frames) {
    may_sleep_ = false;
    return receive(now, max_frames);
}

bool posix_inlet_link::receive(time_point now, std::size_t max_frames) {
    if (phase_ == phase::done)
        return false;
    if (phase_ == phase::waiting) {
        if (now < retry_at_)
            return false;
        start_connecting(now);
    }
    if (phase_ == phase::connecting)
        finish_connecting(now);
    pumped_ = 0;
    drained_ = false;
    for (std::size_t budget = max_frames; phase_ == phase::open;) {
        if (!handle_buffered(budget, now)) {
            if (phase_ == phase::open)
                watch(0); // no room: stop reading, so that the outlet feels it
            return false;
        }
        if (phase_ != phase::open)
            return false;
        if (budget == 0)
            return true;
        if (drained_)
            return false;
        if (pumped_ >= pump_bytes)
            return true;
        if (direct_left_ != 0) {
            if (!read_direct())
                return false;
            continue;
        }
        watch(EPOLLIN);
        if (!read_more())
            return false;
    }
    return false;
}

bool posix_inlet_link::pump_asleep(time_point now, time_point until, std::size_t max_frames) {
    if (phase_ != phase::open || !sleep_at_most(until == time_point::max() ? forever : until - now))
        return false;
    may_sleep_ = true;
    receive(now, max_frames);
    return pumped_ > 0;
}

void posix_inlet_link::interrupt() noexcept {
    const std::lock_guard lock(socket_mutex_);
    if (socket_)
        ::shutdown(socket_.get(), SHUT_RDWR);
}

/// The kernel counts such times in ticks of some ms, and setting one is a system call: a power of two serves many
/// pulls. False: too short for that.
bool posix_inlet_link::sleep_at_most(std::chrono::nanoseconds longest) {
    if (longest < shortest_sleep)
        return false;
    std::chrono::milliseconds limit = shortest_sleep;
    while (limit < longest_sleep && limit * 2 <= longest)
        limit *= 2;
    if (limit == sleep_limit_)
        return true;
    const timeval time{.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0 ||
        (sleep_limit_.count() == 0 && ::fcntl(socket_.get(), F_SETFL, 0) != 0))
        return false; // all other calls say MSG_DONTWAIT
    sleep_limit_ = limit;
    return true;
}

int posix_inlet_link::receive_flags() const noexcept { return may_sleep_ && pumped_ == 0 ? 0 : MSG_DONTWAIT; }

bool posix_inlet_link::handle_buffered(std::size_t& budget, time_point now) {
    while (budget > 0 && phase_ == phase::open && direct_left_ == 0 && end_ - begin_ >= length_bytes) {
        const std::size_t bytes = frame_bytes(buffer_.get() + begin_);
        if (bytes > environment_.max_frame + frame_overhead) {
            environment_.sink->on_ignored();
            lost(now); // nothing after such a length makes sense
            return true;
        }
        if (end_ - begin_ < length_bytes + bytes) {
            if (bytes > direct_from + end_ - begin_) {
                if (!environment_.sink->ready_for_data())
                    return false;
                begin_direct(bytes);
            }
            return true;
        }
        if (!environment_.sink->ready_for_data())
            return false;
        const wire::bytes_view frame(buffer_.get() + begin_ + length_bytes, bytes);
        begin_ += length_bytes + bytes;
        --budget;
        may_sleep_ = false;
        handle(frame, now);
    }
    return true;
}

/// Tries to receive the rest of the frame at begin_ straight into the sink's memory.
bool posix_inlet_link::begin_direct(std::size_t bytes) {
    wire::data_view begun;
    std::size_t payload_bytes = 0;
    const wire::bytes_view received(buffer_.get() + begin_ + length_bytes, end_ - begin_ - length_bytes);
    if (infos_ < 2 || parser_.parse_begun(received, bytes, begun, payload_bytes) != wire::frame_error::none ||
        !environment_.sink->on_data_begun(begun, payload_bytes, bytes))
        return false;
    begin_ = end_; // what has come of the payload is read from where it lies, below
    direct_left_ = payload_bytes;
    early_ = begun.payload;
    large_frames_ = true;
    return true;
}

/// Part of a payload into the sink's memory, and with the same call the next frame's head into ours.
/// False when there is nothing to read, or no room for it.
bool posix_inlet_link::read_direct() {
    const std::span<std::byte> room = environment_.sink->payload_room();
    if (room.empty()) {
        watch(0);
        return false;
    }
    watch(EPOLLIN);
    if (!early_.empty()) {
        const std::size_t n = std::min(early_.size(), room.size());
        std::memcpy(room.data(), early_.data(), n);
        early_ = early_.subspan(n);
        may_sleep_ = false;
        direct_left_ -= n;
        environment_.sink->on_payload(n);
        return true;
    }
    begin_ = end_ = 0;
    const std::size_t wanted = std::min(room.size(), direct_left_);
    std::array<iovec, 2> parts{{{room.data(), wanted}, {buffer_.get(), read_ahead}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = wanted == direct_left_ ? 2 : 1;
    const ssize_t n = ::recvmsg(socket_.get(), &message, receive_flags());
    if (n <= 0) {
        if (n == 0 || !comes_later(errno))
            lost(platform::clock::now()); // it may have slept
        return false;
    }
    received(static_cast<std::size_t>(n), wanted + (message.msg_iovlen == 2 ? read_ahead : 0));
    const std::size_t payload = std::min(static_cast<std::size_t>(n), wanted);
    end_ = static_cast<std::size_t>(n) - payload;
    direct_left_ -= payload;
    environment_.sink->on_payload(payload);
    return true;
}

/// Who got less than he asked for has emptied the socket: another call would only say so.
void posix_inlet_link::received(std::size_t bytes, std::size_t asked) noexcept {
    pumped_ += bytes;
    drained_ = bytes < asked;
}

/// Room for the rest of the frame that has begun, as far as bytes have come: a length alone buys no memory.
void posix_inlet_link::make_room() {
    if (begin_ == end_)
        begin_ = end_ = 0;
    if (end_ < capacity_ && (begin_ == 0 || capacity_ - end_ >= capacity_ / 4))
        return;
    const std::size_t held = end_ - begin_;
    if (begin_ != 0 && held < capacity_ / 2) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, held);
    } else {
        const std::size_t larger = std::max(first_capacity, capacity_ * 2);
        std::unique_ptr<std::byte[]> grown(new std::byte[larger]);
        if (held != 0)
            std::memcpy(grown.get(), buffer_.get() + begin_, held);
        buffer_ = std::move(grown);
        capacity_ = larger;
    }
    begin_ = 0;
    end_ = held;
}

/// One recv; false when there is nothing (or the connection has ended).
bool posix_inlet_link::read_more() {
    make_room();
    // Behind a large frame comes another, as a rule: its head is enough for now.
    const std::size_t room = large_frames_ && begin_ == end_ ? read_ahead : capacity_ - end_;
    const ssize_t n = ::recv(socket_.get(), buffer_.get() + end_, room, receive_flags());
    if (n > 0) {
        received(static_cast<std::size_t>(n), room);
        end_ += static_cast<std::size_t>(n);
        return true;
    }
    if (n == 0 || !comes_later(errno))
        lost(platform::clock::now()); // it may have slept
    return false;
}

void posix_inlet_link::handle(wire::bytes_view frame, time_point now) {
    const auto kind = wire::peek_kind(frame);
    if (kind == static_cast<std::uint8_t>(wire::frame_kind::data)) {
        wire::data_view data;
        if (infos_ < 2) // what everybody gets before our greeting
            return;
        if (parser_.parse(frame, std::nullopt, data) != wire::frame_error::none)
            return environment_.sink->on_ignored();
        large_frames_ = frame.size() > direct_from;
        return environment_.sink->on_data(data, frame.size());
    }
    if (kind == static_cast<std::uint8_t>(wire::frame_kind::info)) {
        wire::info_frame info;
        if (wire::decode_info(frame, info) != wire::frame_error::none)
            return environment_.sink->on_ignored();
        try {
            validate(info.info);
        } catch (const error&) {
            return environment_.sink->on_ignored();
        }
        if (++infos_ < 2) // the first is what everybody gets, later ones begin segments
            return;
        switch (environment_.sink->on_greeting(info, info.next_sequence, nullptr)) {
        case greeting_answer::go_on: pause_ = first_pause; return;
        case greeting_answer::try_again: return lost(now);
        case greeting_answer::close: return close();
        }
        return;
    }
    wire::status_frame status;
    if (wire::decode_status(frame, status) != wire::frame_error::none || infos_ < 2)
        return environment_.sink->on_ignored();
    environment_.sink->on_status(status);
    if (status.kind == wire::frame_kind::end)
        close(); // the outlet waits for that
}

} // namespace rivulet::transport::posix
