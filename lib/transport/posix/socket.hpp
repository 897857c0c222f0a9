#pragma once

#include "platform/unique_fd.hpp"
#include "transport/endpoint.hpp"

#include <rivulet/config.hpp>

#include <string>
#include <sys/socket.h>
#include <vector>

/// Stream sockets of the plain backend: TCP, unix and SCTP (one-to-one style), all non-blocking.
namespace rivulet::transport::posix {

/// An address to listen on or to connect to.
struct socket_address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    int family() const noexcept { return storage.ss_family; }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// All addresses of an endpoint, in the order to be tried. Asks the resolver for names: may block for seconds.
/// @throws error bad_endpoint.
std::vector<socket_address> resolve(const transport::endpoint& where, endpoint_use use);

/// The endpoint once for each address of its host; a name is looked up only if `names` (else: nothing), and what cannot
/// be is nothing, too.
std::vector<transport::endpoint> with_addresses(const transport::endpoint& where, bool names);

/// A non-blocking socket of the endpoint's protocol. @throws error not_supported (the kernel lacks SCTP), system.
platform::unique_fd make_socket(const transport::endpoint& where, int family);

/// What every connection gets, accepted or made: no delay, keep-alive, the buffers of [sockopts].
void configure(int fd, const transport::endpoint& where, const config& settings);

/// Listens on the endpoint; `actual` gets the port in use. @throws error address_in_use, bad_endpoint, system.
platform::unique_fd listen_on(const transport::endpoint& where, const config& settings, transport::endpoint& actual);

/// Why a connection attempt that has ended failed, as errno; 0: it is connected, or goes on.
int connect_error(int fd) noexcept;

/// A port of our own ephemeral range can be connected to itself when nobody listens there.
bool connected_to_itself(int fd) noexcept;

/// The peer of a connection, for people: "192.168.1.5:41234", "pid 4711".
std::string peer_name(int fd);

} // namespace rivulet::transport::posix
