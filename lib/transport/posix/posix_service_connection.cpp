#include "transport/posix/posix_service_connection.hpp"

#include "transport/io_context.hpp"
#include "transport/posix/socket.hpp"

#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace rivulet::transport::posix {
namespace {

constexpr std::size_t max_unsent_bytes = 16u << 20;
constexpr std::size_t read_budget = 1u << 20; ///< a turn

} // namespace

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes) {
    const auto made = std::make_shared<posix_service_connection>(where, io, sink, max_reply_bytes);
    made->start();
    return made;
}

posix_service_connection::posix_service_connection(const endpoint& where, io_context& io, reply_sink& sink,
                                                   std::size_t max_reply_bytes)
    : io_(io), sink_(sink), where_(where), max_reply_bytes_(max_reply_bytes) {}

void posix_service_connection::start() {
    const std::lock_guard lock(mutex_);
    const socket_address address = resolve(where_, endpoint_use::connect).front();
    platform::unique_fd fd = make_socket(where_, address.family());
    const int number = fd.get();
    if (!fd)
        return break_off("this host has no such network");
    configure(number, where_, io_.settings);
    const bool done = ::connect(number, address.get(), address.size) == 0;
    if (!done && errno != EINPROGRESS)
        return break_off(errno == ECONNREFUSED || errno == ENOENT ? "nobody listens there" : "it cannot be reached");
    stream_.emplace(std::move(fd), max_reply_bytes_);
    watched_ = EPOLLOUT; // also when it is open already, so that the I/O thread tells
    io_.io.watch(number, watched_, *this);
}

void posix_service_connection::close() {
    {
        const std::lock_guard lock(mutex_);
        if (phase_ == phase::closed)
            return;
        phase_ = phase::closed;
    }
    io_.io.forget(*this);
    const std::lock_guard lock(mutex_);
    stream_.reset();
}

/// The I/O thread tells the sink. Under the lock.
void posix_service_connection::break_off(const char* reason) {
    if (phase_ == phase::broken || phase_ == phase::closed)
        return;
    phase_ = phase::broken;
    reason_ = reason;
    if (stream_)
        io_.io.unwatch(stream_->fd());
    stream_.reset();
    io_.io.post(*this);
}

void posix_service_connection::tell_broken() {
    {
        const std::lock_guard lock(mutex_);
        if (phase_ != phase::broken || told_)
            return;
        told_ = true;
    }
    sink_.on_broken(reason_);
}

void posix_service_connection::watch_as_needed() {
    const std::uint32_t events = EPOLLIN | (stream_->unsent_bytes() > 0 ? EPOLLOUT : 0u);
    if (events == watched_)
        return;
    watched_ = events;
    io_.io.change(stream_->fd(), events);
}

bool posix_service_connection::send(std::vector<std::byte> frame) {
    const std::lock_guard lock(mutex_);
    if (phase_ != phase::open || stream_->unsent_bytes() > max_unsent_bytes)
        return false;
    if (!stream_->send(std::move(frame)))
        break_off("the connection broke"); // part of it may have got out: the outcome is what on_broken says
    else
        watch_as_needed();
    return true;
}

void posix_service_connection::finish_connecting() {
    {
        const std::lock_guard lock(mutex_);
        if (const int reason = connect_error(stream_->fd()); reason != 0)
            return break_off(reason == ECONNREFUSED ? "nobody listens there" : "it cannot be reached");
        if (connected_to_itself(stream_->fd()))
            return break_off("nobody listens there");
        phase_ = phase::open;
        watch_as_needed();
    }
    sink_.on_open();
}

void posix_service_connection::deliver() {
    for (std::size_t left = read_budget;;) {
        std::optional<std::vector<std::byte>> frame;
        {
            const std::lock_guard lock(mutex_);
            if (phase_ != phase::open)
                return;
            if (!stream_->has_frame()) {
                const std::size_t before = stream_->pending_bytes();
                const auto state = stream_->read(left);
                left -= std::min(left, stream_->pending_bytes() - before);
                if (state != framed_stream::state::open && !stream_->has_frame())
                    return break_off(state == framed_stream::state::ended ? "the other side closed the connection"
                                                                          : "the connection broke");
            }
            frame = stream_->take_frame();
            if (!frame)
                return;
        }
        sink_.on_reply(*frame);
        if (left == 0)
            return io_.io.post(*this);
    }
}

void posix_service_connection::on_ready(int, std::uint32_t events) {
    const auto self = weak_from_this().lock();
    phase now_in = phase::closed;
    {
        const std::lock_guard lock(mutex_);
        now_in = phase_;
        if (phase_ == phase::open && (events & EPOLLOUT) != 0) {
            if (!stream_->flush())
                break_off("the connection broke");
            else
                watch_as_needed();
        }
    }
    if (now_in == phase::connecting)
        finish_connecting();
    deliver();
    tell_broken();
}

void posix_service_connection::on_turn(platform::time_point) {
    const auto self = weak_from_this().lock();
    deliver();
    tell_broken();
}

} // namespace rivulet::transport::posix
