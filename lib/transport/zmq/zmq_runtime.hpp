#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <zmq.h>

namespace rivulet::transport {
class io_context;
}

namespace rivulet::transport::zmq {

class zap_handler;

/// The libzmq context of one rivulet context: one I/O thread, so that monitor events come in order. Where there are
/// keys, also what answers for who may connect.
class zmq_runtime {
public:
    /// @throws error system; not_supported: there are keys, but this libzmq has no CURVE.
    explicit zmq_runtime(const io_context& io);
    ~zmq_runtime();
    zmq_runtime(const zmq_runtime&) = delete;
    zmq_runtime& operator=(const zmq_runtime&) = delete;
    void* context() const noexcept { return context_; }

private:
    void* context_;
    int owner_pid_;
    std::unique_ptr<zap_handler> zap_;
};

/// A libzmq socket with ZMQ_LINGER = 0 from its first moment; closed with its owner.
class zmq_socket {
public:
    /// @throws error limit_exceeded (sockets), system.
    zmq_socket(const zmq_runtime& runtime, int type);
    ~zmq_socket() { close(); }
    zmq_socket(zmq_socket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
    zmq_socket& operator=(zmq_socket&&) = delete;

    void* get() const noexcept { return socket_; }
    void close() noexcept;
    void set(int option, int value);
    void set(int option, std::int64_t value);
    void set(int option, const void* bytes, std::size_t size);
    int get_int(int option) const;
    std::string last_endpoint() const;

private:
    void* socket_;
};

/// The events of one socket, by libzmq's socket monitor. They come in order, on libzmq's single I/O thread.
/// Threads: one at a time (the owner's lock).
class socket_monitor {
public:
    /// @param events of ZMQ_EVENT_*. Before the socket is bound or connected.
    socket_monitor(const zmq_runtime& runtime, zmq_socket& watched, int events);

    int fd() const { return events_.get_int(ZMQ_FD); } ///< readable when next() may find something
    /// Takes one event, if there is one. Must happen regularly, as an unread monitor blocks libzmq.
    /// `value` is a descriptor, or the reason of a failed handshake.
    bool next(int& event, int& value);
    /// Before the watched socket is closed.
    void stop(zmq_socket& watched);

private:
    zmq_socket events_;
};

/// libzmq's reason for the last failure on this thread.
std::string last_reason();

} // namespace rivulet::transport::zmq
