#include "transport/posix/socket.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rivulet::transport::posix {
namespace {

using family = transport::endpoint::family;

constexpr int sctp_nodelay = 3; ///< SCTP_NODELAY of linux/sctp.h
constexpr int backlog = 1024;

bool is_sctp(const transport::endpoint& where) { return where.scheme == "posix+sctp"; }

[[noreturn]] void refuse(errc code, const transport::endpoint& where, const std::string& what) {
    throw error(code, "endpoint " + where.to_string() + ": " + what);
}

socket_address unix_address(const std::string& path) {
    socket_address address;
    auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, path.c_str(), std::min(path.size(), sizeof un.sun_path - 1));
    address.size = sizeof un;
    return address;
}

void set_option(int fd, int level, int option, int value) noexcept {
    ::setsockopt(fd, level, option, &value, sizeof value);
}

/// Both families on one socket where the kernel has IPv6.
std::vector<socket_address> any_addresses(std::uint16_t port) {
    socket_address six;
    auto& in6 = reinterpret_cast<sockaddr_in6&>(six.storage);
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    six.size = sizeof in6;
    socket_address four;
    auto& in4 = reinterpret_cast<sockaddr_in&>(four.storage);
    in4.sin_family = AF_INET;
    in4.sin_port = htons(port);
    four.size = sizeof in4;
    return {six, four};
}

std::uint16_t port_of(int fd) {
    socket_address mine;
    mine.size = sizeof mine.storage;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&mine.storage), &mine.size);
    return ntohs(mine.family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(mine.storage).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(mine.storage).sin_port);
}

void set_path_access(const transport::endpoint& where, const config& settings) {
    if (::chmod(where.path.c_str(), settings.posix.mode) != 0)
        refuse(errc::system, where, std::string("cannot set the socket's mode: ") + std::strerror(errno));
    if (settings.posix.group.empty())
        return;
    const group* entry = ::getgrnam(settings.posix.group.c_str());
    if (!entry || ::chown(where.path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0)
        refuse(errc::system, where,
               "cannot give the socket to group " + settings.posix.group +
                   " ([posix] group); name a group that exists and that you are in");
}

/// One attempt; an invalid descriptor with errno set when the address is taken or not ours.
platform::unique_fd try_listen(const transport::endpoint& where, const socket_address& address,
                               const config& settings) {
    platform::unique_fd fd = make_socket(where, address.family());
    if (where.kind == family::tcp) {
        set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        if (address.family() == AF_INET6)
            set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, where.host == "*" ? 0 : 1);
    }
    configure(fd.get(), where, settings); // accepted sockets inherit the buffers, in time for the window scale
    if (::bind(fd.get(), address.get(), address.size) != 0)
        return {};
    if (where.kind == family::path)
        set_path_access(where, settings); // nobody can connect before listen()
    if (::listen(fd.get(), backlog) != 0)
        return {};
    return fd;
}

} // namespace

std::vector<socket_address> resolve(const transport::endpoint& where, endpoint_use use) {
    if (where.kind == family::path)
        return {unix_address(where.path)};
    if (use == endpoint_use::listen && where.host == "*")
        return any_addresses(where.port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = use == endpoint_use::listen ? AI_PASSIVE : AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    int failed = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
    if (failed != 0 && hints.ai_flags == AI_ADDRCONFIG) { // loopback only: no configured address at all
        hints.ai_flags = 0;
        failed = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
    }
    if (failed != 0)
        refuse(errc::bad_endpoint, where,
               "cannot resolve " + where.host + ": " + ::gai_strerror(failed) + "; check the name");
    std::vector<socket_address> result;
    for (const addrinfo* a = found; a; a = a->ai_next) {
        socket_address& address = result.emplace_back();
        std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
        address.size = a->ai_addrlen;
    }
    ::freeaddrinfo(found);
    return result;
}

std::vector<transport::endpoint> with_addresses(const transport::endpoint& where, bool names) {
    in_addr four{};
    if (where.ipv6_literal() || ::inet_pton(AF_INET, where.host.c_str(), &four) == 1)
        return {where};
    std::vector<transport::endpoint> result;
    if (!names)
        return result;
    try {
        for (const socket_address& address : resolve(where, endpoint_use::connect)) {
            std::array<char, NI_MAXHOST> host{};
            if (::getnameinfo(address.get(), address.size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
                continue;
            transport::endpoint numeric = where;
            numeric.host = host.data();
            if (std::ranges::find(result, numeric.host, &transport::endpoint::host) == result.end())
                result.push_back(std::move(numeric)); // a hosts file may name an address twice
        }
    } catch (const error&) {
        result.clear();
    }
    return result;
}

platform::unique_fd make_socket(const transport::endpoint& where, int address_family) {
    platform::unique_fd fd(
        ::socket(address_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, is_sctp(where) ? IPPROTO_SCTP : 0));
    if (fd)
        return fd;
    if (is_sctp(where) && (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT))
        refuse(errc::not_supported, where, "this kernel has no SCTP (load the module sctp, or use posix+tcp)");
    if (errno == EAFNOSUPPORT)
        return fd; // a host without IPv6: the next address is tried
    refuse(errc::system, where, std::string("cannot make a socket: ") + std::strerror(errno));
}

void configure(int fd, const transport::endpoint& where, const config& settings) {
    if (where.kind == family::tcp) {
        if (is_sctp(where)) {
            set_option(fd, IPPROTO_SCTP, sctp_nodelay, 1);
        } else {
            set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
            set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
            set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
            set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
            set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
        }
        if (settings.sockopts.priority != 0)
            set_option(fd, SOL_SOCKET, SO_PRIORITY, static_cast<int>(settings.sockopts.priority));
    }
    // The kernel doubles what it is given, for its own bookkeeping.
    if (settings.sockopts.sndbuf != 0)
        set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(settings.sockopts.sndbuf / 2));
    if (settings.sockopts.rcvbuf != 0)
        set_option(fd, SOL_SOCKET, SO_RCVBUF, static_cast<int>(settings.sockopts.rcvbuf / 2));
}

platform::unique_fd listen_on(const transport::endpoint& where, const config& settings, transport::endpoint& actual) {
    actual = where;
    const bool range = where.kind == family::tcp && where.port == 0 && settings.ports.first != 0;
    const std::uint32_t first = range ? settings.ports.first : where.port;
    const std::uint32_t last = range ? settings.ports.last : where.port;
    int reason = 0;
    for (std::uint32_t port = first; port <= last; ++port) {
        transport::endpoint attempt = where;
        attempt.port = static_cast<std::uint16_t>(port);
        for (const socket_address& address : resolve(attempt, endpoint_use::listen)) {
            platform::unique_fd fd = try_listen(attempt, address, settings);
            reason = errno;
            if (fd) {
                if (where.kind == family::tcp)
                    actual.port = port_of(fd.get());
                return fd;
            }
            if (reason == EADDRINUSE)
                break; // the other family must not hide it
        }
        if (reason != EADDRINUSE)
            break;
    }
    const std::string text = std::string("cannot listen: ") + std::strerror(reason);
    if (reason == EADDRINUSE)
        refuse(errc::address_in_use, where, text + "; choose another port, or * for any");
    if (reason == EADDRNOTAVAIL)
        refuse(errc::bad_endpoint, where, text + "; give an address of this host, or *");
    if (reason == ENOENT || reason == ENOTDIR || reason == EACCES)
        refuse(errc::system, where, text + "; choose a folder that exists and can be written");
    refuse(errc::system, where, text);
}

int connect_error(int fd) noexcept {
    int reason = 0;
    socklen_t size = sizeof reason;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 ? reason : errno;
}

bool connected_to_itself(int fd) noexcept {
    socket_address mine;
    socket_address peer;
    mine.size = peer.size = sizeof mine.storage;
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&mine.storage), &mine.size) == 0 &&
           ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) == 0 && mine.family() != AF_UNIX &&
           mine.size == peer.size && std::memcmp(&mine.storage, &peer.storage, mine.size) == 0;
}

std::string peer_name(int fd) {
    socket_address peer;
    peer.size = sizeof peer.storage;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0)
        return "gone";
    if (peer.family() == AF_UNIX) {
        ucred who{};
        socklen_t size = sizeof who;
        if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
            return "pid " + std::to_string(who.pid);
        return "local";
    }
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (::getnameinfo(peer.get(), peer.size, host.data(), host.size(), port.data(), port.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unknown";
    const std::string name = host.data();
    return (name.find(':') == std::string::npos ? name : '[' + name + ']') + ':' + port.data();
}

} // namespace rivulet::transport::posix
