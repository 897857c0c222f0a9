#pragma once

#include <rivulet/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace rivulet::transport::zmq {

/// The libzmq context of one rivulet context: one I/O thread, so that monitor events come in order.
class zmq_runtime {
public:
    explicit zmq_runtime(const config& settings);
    ~zmq_runtime();
    zmq_runtime(const zmq_runtime&) = delete;
    zmq_runtime& operator=(const zmq_runtime&) = delete;
    void* context() const noexcept { return context_; }

private:
    void* context_;
    int owner_pid_;
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

/// libzmq's reason for the last failure on this thread.
std::string last_reason();

} // namespace rivulet::transport::zmq
