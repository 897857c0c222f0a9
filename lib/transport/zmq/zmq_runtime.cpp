#include "transport/zmq/zmq_runtime.hpp"

#include "platform/limits.hpp"
#include "transport/io_context.hpp"
#include "transport/zmq/zap_handler.hpp"
#include "transport/zmq/zmq_security.hpp"

#include <rivulet/error.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <zmq.h>

namespace rivulet::transport::zmq {

namespace {

std::string monitor_name() {
    static std::atomic<std::uint64_t> next{0};
    return "inproc://rivulet-monitor-" + std::to_string(next.fetch_add(1));
}

} // namespace

zmq_runtime::zmq_runtime(const io_context& io) : context_(::zmq_ctx_new()), owner_pid_(::getpid()) {
    if (!context_)
        throw error(errc::system, "ZeroMQ: cannot make a context: " + last_reason());
    platform::raise_fd_limit();
    ::zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, static_cast<int>(io.settings.zmq.max_sockets));
    ::zmq_ctx_set(context_, ZMQ_IO_THREADS, 1);
    ::zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
    if (!io.keys->curve())
        return;
    try {
        require_curve();
        zap_ = std::make_unique<zap_handler>(*this, io.keys, io.log);
    } catch (...) {
        ::zmq_ctx_term(context_);
        throw;
    }
}

zmq_runtime::~zmq_runtime() {
    if (owner_pid_ != ::getpid()) { // a forked child has none of its threads
        (void)zap_.release();
        return;
    }
    ::zmq_ctx_shutdown(context_);
    zap_.reset();
    ::zmq_ctx_term(context_);
}

std::string last_reason() { return ::zmq_strerror(::zmq_errno()); }

zmq_socket::zmq_socket(const zmq_runtime& runtime, int type) : socket_(::zmq_socket(runtime.context(), type)) {
    if (!socket_) {
        if (::zmq_errno() == EMFILE)
            throw error(errc::limit_exceeded, "ZeroMQ: no more sockets; raise [zmq] max_sockets and the limit of open "
                                              "files (ulimit -n)");
        throw error(errc::system, "ZeroMQ: cannot make a socket: " + last_reason());
    }
    set(ZMQ_LINGER, 0);
}

void zmq_socket::close() noexcept {
    if (socket_)
        ::zmq_close(std::exchange(socket_, nullptr));
}

void zmq_socket::set(int option, const void* bytes, std::size_t size) {
    if (::zmq_setsockopt(socket_, option, bytes, size) != 0)
        throw error(errc::system, "ZeroMQ: cannot set socket option " + std::to_string(option) + ": " + last_reason());
}

void zmq_socket::set(int option, int value) { set(option, &value, sizeof value); }
void zmq_socket::set(int option, std::int64_t value) { set(option, &value, sizeof value); }

int zmq_socket::get_int(int option) const {
    int value = 0;
    std::size_t size = sizeof value;
    ::zmq_getsockopt(socket_, option, &value, &size);
    return value;
}

std::string zmq_socket::last_endpoint() const {
    std::array<char, 512> text{};
    std::size_t size = text.size();
    ::zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text.data(), &size);
    return text.data();
}

socket_monitor::socket_monitor(const zmq_runtime& runtime, zmq_socket& watched, int events)
    : events_(runtime, ZMQ_PAIR) {
    const std::string name = monitor_name();
    // Unbounded, or a burst of events would block libzmq's I/O thread until we take them.
    events_.set(ZMQ_RCVHWM, 0);
    if (::zmq_socket_monitor(watched.get(), name.c_str(), events) != 0 ||
        ::zmq_connect(events_.get(), name.c_str()) != 0)
        throw error(errc::system, "ZeroMQ: cannot monitor a socket: " + last_reason());
}

bool socket_monitor::next(int& event, int& value) {
    zmq_msg_t part;
    ::zmq_msg_init(&part);
    const bool got = ::zmq_msg_recv(&part, events_.get(), ZMQ_DONTWAIT) >= 0;
    if (got) {
        std::uint16_t what = 0;
        std::int32_t with = -1;
        if (::zmq_msg_size(&part) == sizeof what + sizeof with) {
            std::memcpy(&what, ::zmq_msg_data(&part), sizeof what);
            std::memcpy(&with, static_cast<const char*>(::zmq_msg_data(&part)) + sizeof what, sizeof with);
        }
        event = what;
        value = with;
        while (::zmq_msg_more(&part) && ::zmq_msg_recv(&part, events_.get(), 0) >= 0) {
        }
    }
    ::zmq_msg_close(&part);
    return got;
}

void socket_monitor::stop(zmq_socket& watched) {
    ::zmq_socket_monitor(watched.get(), nullptr, 0);
    for (int event = 0, fd = -1; next(event, fd);) {
    }
    events_.close();
}

} // namespace rivulet::transport::zmq
