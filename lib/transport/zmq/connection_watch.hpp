#pragma once

#include "transport/zmq/zmq_runtime.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rivulet::transport::zmq {

/// One accepted connection of a listening socket. Descriptor numbers are reused; serials are not.
struct connection {
    int fd = -1;
    std::uint64_t serial = 0; ///< 0 = none
    friend bool operator==(const connection&, const connection&) = default;
};

/// Knows by a socket monitor which connections a listening socket has, and can end one of them without touching any
/// other. Race-free because libzmq reports DISCONNECTED before it closes the descriptor, on its single I/O thread:
/// what is still listed after a dup was really duplicated. Threads: one at a time (the owner's lock).
class connection_watch {
public:
    /// Before the socket is bound. @param curve it asks for keys.
    connection_watch(const zmq_runtime& runtime, zmq_socket& watched, bool curve);

    int fd() const { return monitor_.fd(); } ///< readable when drain() may find something
    /// Reads all events; must happen regularly, as an unread monitor blocks libzmq.
    void drain();
    /// The connection that has this descriptor now; serial 0 if none.
    connection find(int fd) const noexcept;
    template<class F>
    void for_each(F&& f) const {
        for (const auto& [fd, serial] : live_)
            f(connection{fd, serial});
    }
    /// Connections that were refused for their keys, since the beginning, and why the last one was.
    std::uint64_t refused() const noexcept { return refused_; }
    std::string_view last_refusal() const noexcept { return last_refusal_; }
    /// It is certain that this was somebody with a wrong key, or none.
    bool refusal_certain() const noexcept { return refusal_certain_; }
    bool alive(const connection& c) const noexcept { return c.serial != 0 && find(c.fd) == c; }

    enum class verdict : std::uint8_t {
        gone,     ///< it has ended already
        writable, ///< left alone: its kernel buffer takes bytes, so it is not the one that blocks
        shut      ///< shut down
    };
    /// Ends the connection; with `only_if_full` not when its kernel buffer has room.
    verdict shut_down(const connection& c, bool only_if_full);

    /// Stops listening and waits until libzmq has let go of the port or path, so that a successor may take it at once.
    /// Ends all connections.
    void stop_listening(zmq_socket& watched);
    /// Before the watched socket is closed.
    void stop(zmq_socket& watched);

private:
    socket_monitor monitor_;
    std::unordered_map<int, std::uint64_t> live_;
    std::uint64_t next_serial_ = 1;
    bool listener_closed_ = false;
    const bool curve_;
    std::uint64_t refused_ = 0;
    std::string_view last_refusal_;
    bool refusal_certain_ = false;
};

} // namespace rivulet::transport::zmq
