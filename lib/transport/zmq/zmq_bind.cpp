#include "transport/zmq/zmq_bind.hpp"

#include <rivulet/error.hpp>

#include <cerrno>
#include <zmq.h>

namespace rivulet::transport::zmq {
namespace {

/// What LAST_ENDPOINT says behind the last colon.
std::uint16_t port_of(const std::string& last_endpoint) {
    return static_cast<std::uint16_t>(std::stoi(last_endpoint.substr(last_endpoint.rfind(':') + 1)));
}

[[noreturn]] void bind_failed(const std::string& endpoint) {
    const int reason = ::zmq_errno();
    const std::string text = "endpoint " + endpoint + ": cannot listen: " + last_reason();
    if (reason == EADDRINUSE)
        throw error(errc::address_in_use, text + "; choose another port, or * for any");
    if (reason == EADDRNOTAVAIL || reason == ENODEV || reason == EINVAL)
        throw error(errc::bad_endpoint, text + "; give an address or interface of this host, or *");
    throw error(errc::system, text);
}

} // namespace

std::string zmq_address(const endpoint& where) {
    if (where.kind != endpoint::family::tcp)
        return "ipc://" + where.path;
    const std::string host = where.ipv6_literal() ? '[' + where.host + ']' : where.host;
    return "tcp://" + host + ':' + std::to_string(where.port);
}

void keep_alive(zmq_socket& socket, const endpoint& where) {
    if (where.kind != endpoint::family::tcp)
        return;
    socket.set(ZMQ_TCP_KEEPALIVE, 1);
    socket.set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
    socket.set(ZMQ_TCP_KEEPALIVE_INTVL, 5);
    socket.set(ZMQ_TCP_KEEPALIVE_CNT, 3);
}

std::uint16_t bind(zmq_socket& socket, const endpoint& where, const config::ports_section& range) {
    if (where.kind != endpoint::family::tcp) {
        if (::zmq_bind(socket.get(), zmq_address(where).c_str()) != 0)
            bind_failed(where.to_string());
        return 0;
    }
    const std::string host = where.wildcard_host() ? "*" : where.ipv6_literal() ? '[' + where.host + ']' : where.host;
    const bool ranged = where.port == 0 && range.first != 0;
    const std::uint32_t last = ranged ? range.last : where.port;
    for (std::uint32_t port = ranged ? range.first : where.port; port <= last; ++port) {
        const std::string address = "tcp://" + host + ':' + (port == 0 ? "*" : std::to_string(port));
        // One socket for both families where the kernel has IPv6; a host without it refuses the first attempt.
        const bool both = where.host == "*" || where.ipv6_literal();
        socket.set(ZMQ_IPV6, both ? 1 : 0);
        if (::zmq_bind(socket.get(), address.c_str()) == 0)
            return port_of(socket.last_endpoint());
        if (both && where.host == "*" && ::zmq_errno() != EADDRINUSE) {
            socket.set(ZMQ_IPV6, 0);
            if (::zmq_bind(socket.get(), address.c_str()) == 0)
                return port_of(socket.last_endpoint());
        }
        if (::zmq_errno() != EADDRINUSE)
            break;
    }
    bind_failed(where.to_string());
}

} // namespace rivulet::transport::zmq
