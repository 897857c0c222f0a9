#include "transport/zmq/zmq_runtime.hpp"

#include "platform/limits.hpp"

#include <rivulet/error.hpp>

#include <array>
#include <cerrno>
#include <unistd.h>
#include <zmq.h>

namespace rivulet::transport::zmq {

zmq_runtime::zmq_runtime(const config& settings) : context_(::zmq_ctx_new()), owner_pid_(::getpid()) {
    if (!context_)
        throw error(errc::system, "ZeroMQ: cannot make a context: " + last_reason());
    platform::raise_fd_limit();
    ::zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, static_cast<int>(settings.zmq.max_sockets));
    ::zmq_ctx_set(context_, ZMQ_IO_THREADS, 1);
    ::zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
}

zmq_runtime::~zmq_runtime() {
    if (owner_pid_ == ::getpid()) // a forked child has none of its threads
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

} // namespace rivulet::transport::zmq
