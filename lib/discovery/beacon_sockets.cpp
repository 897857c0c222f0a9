#include "discovery/beacon_sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/uio.h>

// Newer than some headers.
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

namespace rivulet::discovery {
namespace {

constexpr int receive_buffer = 4 << 20; ///< as far as the system allows

bool set_option(int fd, int level, int option, int value) noexcept {
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

platform::unique_fd make_socket(int family) {
    platform::unique_fd fd(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return fd;
    set_option(fd.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer);
    if (family == AF_INET6) {
        set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set_option(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        set_option(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    } else {
        set_option(fd.get(), IPPROTO_IP, IP_PKTINFO, 1);
        set_option(fd.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0); // groups of other programs are none of ours
    }
    return fd;
}

bool bind_to(int fd, bool ipv6, std::uint16_t port) noexcept {
    udp_address any;
    any.ipv6 = ipv6;
    any.port = port;
    sockaddr_storage storage{};
    const socklen_t size = to_sockaddr(any, storage);
    return ::bind(fd, reinterpret_cast<const sockaddr*>(&storage), size) == 0;
}

/// Joins the group on an interface, or leaves it.
bool set_membership(int fd, const udp_address& group, std::uint32_t interface, bool joined) noexcept {
    if (group.ipv6) {
        ipv6_mreq request{};
        std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), 16);
        request.ipv6mr_interface = interface;
        return ::setsockopt(fd, IPPROTO_IPV6, joined ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request, sizeof request) ==
               0;
    }
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.bytes.data(), 4);
    request.imr_ifindex = static_cast<int>(interface);
    return ::setsockopt(fd, IPPROTO_IP, joined ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request, sizeof request) == 0;
}

/// Sends over one interface, or (0) where the routes lead. @param from source address; null: the kernel chooses.
bool send_by(int fd, std::uint32_t interface, const udp_address& to, bytes_view bytes,
             const udp_address* from = nullptr) noexcept {
    sockaddr_storage storage{};
    iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_namelen = to_sockaddr(to, storage);
    message.msg_name = &storage;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> control{};
    if (interface != 0) {
        message.msg_control = control.data();
        message.msg_controllen = to.ipv6 ? CMSG_SPACE(sizeof(in6_pktinfo)) : CMSG_SPACE(sizeof(in_pktinfo));
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        if (to.ipv6) {
            in6_pktinfo info{};
            info.ipi6_ifindex = interface;
            if (from)
                std::memcpy(&info.ipi6_addr, from->bytes.data(), 16);
            header->cmsg_level = IPPROTO_IPV6;
            header->cmsg_type = IPV6_PKTINFO;
            header->cmsg_len = CMSG_LEN(sizeof info);
            std::memcpy(CMSG_DATA(header), &info, sizeof info);
        } else {
            in_pktinfo info{};
            info.ipi_ifindex = static_cast<int>(interface);
            if (from)
                std::memcpy(&info.ipi_spec_dst, from->bytes.data(), 4);
            header->cmsg_level = IPPROTO_IP;
            header->cmsg_type = IP_PKTINFO;
            header->cmsg_len = CMSG_LEN(sizeof info);
            std::memcpy(CMSG_DATA(header), &info, sizeof info);
        }
    }
    return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/// Where a datagram was sent to; nothing when the kernel does not say.
std::optional<udp_address> destination(msghdr& message) noexcept {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        udp_address out;
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            in_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(header), sizeof info);
            std::memcpy(out.bytes.data(), &info.ipi_addr, 4);
            return out;
        }
        if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(header), sizeof info);
            out.ipv6 = true;
            std::memcpy(out.bytes.data(), &info.ipi6_addr, 16);
            return out;
        }
    }
    return std::nullopt;
}

} // namespace

beacon_sockets::beacon_sockets(const config& settings, platform::logger& log) : settings_(settings), log_(log) {
    families_[0].group = parse_udp_address(settings.discovery.group, settings.discovery.port).value_or(udp_address{});
    families_[1].group = parse_udp_address(settings.discovery.group6, settings.discovery.port).value_or(udp_address{});
    families_[1].group.ipv6 = true;
}

// --- opening --------------------------------------------------------------------------------------------------------

void beacon_sockets::open() {
    open_ = true;
    for (sockets& s : families_)
        open_family(s);
    changes_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
    if (changes_ && ::bind(changes_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        changes_.reset();
    refresh();
}

void beacon_sockets::close() noexcept {
    for (sockets& s : families_) {
        s.common.reset();
        s.own.reset();
        s.loops = true;
    }
    changes_.reset();
    joined_.clear();
    interfaces_.clear();
    open_ = false;
}

void beacon_sockets::open_family(sockets& s) {
    const bool ipv6 = s.group.ipv6;
    const int family = ipv6 ? AF_INET6 : AF_INET;
    s.own = make_socket(family);
    if (!s.own) {
        if (errno != EAFNOSUPPORT)
            log_.warn("discovery_socket", {{"family", ipv6 ? "IPv6" : "IPv4"}},
                      std::string("cannot make a UDP socket: ") + std::strerror(errno));
        return;
    }
    const auto hops = static_cast<int>(settings_.discovery.hops);
    set_option(s.own.get(), SOL_SOCKET, SO_BROADCAST, 1);
    set_option(s.own.get(), ipv6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, ipv6 ? IPV6_MULTICAST_HOPS : IP_MULTICAST_TTL,
               hops);
    if (!bind_own(s)) {
        log_.warn("discovery_socket", {{"family", ipv6 ? "IPv6" : "IPv4"}},
                  std::string("cannot bind a UDP socket: ") + std::strerror(errno));
        s.own.reset();
        return;
    }
    s.common = make_socket(family);
    if (!s.common)
        return;
    set_option(s.common.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (!bind_to(s.common.get(), ipv6, settings_.discovery.port)) {
        log_.warn("discovery_port", {{"port", settings_.discovery.port}},
                  std::string("cannot listen for beacons: ") + std::strerror(errno) +
                      "; others will not find streams of this process. Choose another [discovery] port, on all hosts");
        s.common.reset();
    }
}

/// Within [ports], if there is a range and room in it, for the sake of firewalls.
bool beacon_sockets::bind_own(const sockets& s) {
    if (settings_.ports.first != 0) {
        for (std::uint32_t port = settings_.ports.first; port <= settings_.ports.last; ++port)
            if (port != settings_.discovery.port &&
                bind_to(s.own.get(), s.group.ipv6, static_cast<std::uint16_t>(port)))
                return true;
        log_.warn("discovery_port", {{"first", settings_.ports.first}, {"last", settings_.ports.last}},
                  "no UDP port of the range is free; taking any. Give [ports] more room");
    }
    return bind_to(s.own.get(), s.group.ipv6, 0);
}

std::vector<int> beacon_sockets::descriptors() const {
    std::vector<int> out;
    for (const sockets& s : families_)
        for (const auto* fd : {&s.common, &s.own})
            if (*fd)
                out.push_back(fd->get());
    if (changes_)
        out.push_back(changes_.get());
    return out;
}

// --- interfaces -----------------------------------------------------------------------------------------------------

void beacon_sockets::complain(const network_interface& interface, const char* what) {
    const int reason = errno;
    // On its way up or down, or the queue is full: the next beacon will do.
    const bool passing =
        reason == ENETDOWN || reason == EADDRNOTAVAIL || reason == ENODEV || reason == EAGAIN || reason == ENOBUFS;
    if (passing || interface.loopback || !complained_.emplace(interface.name, what).second)
        return;
    log_.warn("discovery_interface", {{"interface", interface.name}},
              std::string(what) + ": " + std::strerror(reason) + "; going on with the other interfaces");
}

void beacon_sockets::join(sockets& s, const network_interface& interface) {
    if (!s.common || !interface.has(s.group.ipv6) || joined_.contains({s.group.ipv6, interface.index}) ||
        !(interface.loopback || (interface.multicast && settings_.discovery.multicast)))
        return;
    if (set_membership(s.common.get(), s.group, interface.index, true) || errno == EADDRINUSE)
        joined_.emplace(s.group.ipv6, interface.index);
    else
        complain(interface, s.group.ipv6 ? "cannot join the IPv6 multicast group" : "cannot join the multicast group");
}

/// A membership of an interface that is gone would count against the system's limit.
void beacon_sockets::leave_lost_interfaces(const std::vector<network_interface>& now) {
    std::erase_if(joined_, [&](const auto& membership) {
        const auto& [ipv6, index] = membership;
        const auto found = std::ranges::find(now, index, &network_interface::index);
        if (found != now.end() && found->has(ipv6))
            return false;
        const sockets& s = families_[ipv6 ? 1 : 0];
        set_membership(s.common.get(), s.group, index, false);
        return true;
    });
}

bool beacon_sockets::refresh() {
    std::vector<network_interface> now = list_interfaces();
    leave_lost_interfaces(now);
    for (const network_interface& interface : now)
        for (sockets& s : families_)
            join(s, interface);
    const bool changed = now != interfaces_;
    interfaces_ = std::move(now);
    if (changed)
        complained_.clear();
    return changed;
}

void beacon_sockets::drain_changes() noexcept {
    std::array<char, 8192> ignored;
    // ENOBUFS: more changes than the buffer held, which comes to the same.
    while (::recv(changes_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
        errno = 0;
}

bool beacon_sockets::mine(const udp_address& address) const noexcept {
    return address.is_loopback() || std::ranges::any_of(interfaces_, [&](const network_interface& interface) {
               return std::ranges::any_of(interface.addresses,
                                          [&](const udp_address& a) { return a.same_host(address); });
           });
}

std::optional<udp_address> beacon_sockets::loopback(bool ipv6) const noexcept {
    for (const network_interface& interface : interfaces_)
        for (const udp_address& address : interface.addresses)
            if (interface.loopback && address.ipv6 == ipv6 && address.is_loopback())
                return address;
    return std::nullopt;
}

bool beacon_sockets::broadcast(const udp_address& address) const noexcept {
    if (address.ipv6)
        return false;
    if (std::all_of(address.bytes.begin(), address.bytes.begin() + 4, [](auto b) { return b == 255; }))
        return true;
    return std::ranges::any_of(interfaces_, [&](const network_interface& interface) {
        return std::ranges::any_of(interface.broadcasts,
                                   [&](const udp_address& a) { return a.bytes == address.bytes; });
    });
}

// --- datagrams ------------------------------------------------------------------------------------------------------

std::size_t beacon_sockets::receive(int fd, std::span<std::byte> buffer, reception& how) {
    for (;;) {
        sockaddr_storage from{};
        iovec data{buffer.data(), buffer.size()};
        alignas(cmsghdr) std::array<char, 256> control{};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH))
            continue; // somebody whom we wrote to is not there: taken off the queue by this call
        if (got < 0)
            return 0;
        const auto source = from_sockaddr(reinterpret_cast<const sockaddr*>(&from));
        if (got == 0 || !source || source->port == 0)
            continue;
        how = {*source, false, mine(*source)};
        if (const auto local = loopback(source->ipv6); how.from_this_host && local) {
            how.from = *local;
            how.from.port = source->port;
        }
        if (fd == families_[0].common.get() || fd == families_[1].common.get()) {
            const auto to = destination(message);
            how.unicast = to && !to->is_multicast() && !broadcast(*to);
        }
        return static_cast<std::size_t>(got);
    }
}

void beacon_sockets::set_loop(sockets& s, bool loop) {
    if (s.loops == loop)
        return;
    s.loops = loop;
    set_option(s.own.get(), s.group.ipv6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP},
               s.group.ipv6 ? IPV6_MULTICAST_LOOP : IP_MULTICAST_LOOP, loop ? 1 : 0);
}

bool beacon_sockets::send_group(sockets& s, const network_interface& interface, bytes_view bytes) {
    udp_address group = s.group;
    group.scope = s.group.ipv6 ? interface.index : 0;
    // Left to itself the kernel takes another interface's address for the loopback interface.
    const auto mine =
        std::ranges::find_if(interface.addresses, [&](const udp_address& a) { return a.ipv6 == group.ipv6; });
    return send_by(s.own.get(), interface.index, group, bytes, interface.loopback ? &*mine : nullptr);
}

/// True when all processes of this host get it that way.
bool beacon_sockets::send_over_loopback(bytes_view bytes, bool as_it_is) {
    for (sockets& s : families_)
        for (const network_interface& interface : interfaces_)
            if (s.own && interface.loopback && interface.has(s.group.ipv6) &&
                send_group(s, interface, as_it_is ? bytes : copy_of(bytes)))
                return true;
    return false;
}

void beacon_sockets::send_outside(bytes_view bytes, bool loop, bool as_it_is) {
    const auto copy = [&] { return as_it_is ? bytes : copy_of(bytes); };
    for (sockets& s : families_) {
        if (!s.own)
            continue;
        set_loop(s, loop);
        for (const network_interface& interface : interfaces_) {
            if (interface.loopback || !interface.has(s.group.ipv6))
                continue;
            if (settings_.discovery.multicast && interface.multicast && !send_group(s, interface, copy()))
                complain(interface, s.group.ipv6 ? "cannot send IPv6 multicasts" : "cannot send multicasts");
            if (s.group.ipv6 || !settings_.discovery.broadcast)
                continue;
            for (udp_address to : interface.broadcasts) {
                to.port = settings_.discovery.port;
                if (!send_by(s.own.get(), interface.index, to, copy()))
                    complain(interface, "cannot send broadcasts");
            }
        }
    }
}

void beacon_sockets::send_to_all(bytes_view bytes) { send_outside(bytes, !send_over_loopback(bytes, false), false); }

void beacon_sockets::send_to_host(bytes_view bytes) {
    if (!send_over_loopback(bytes, true))
        send_outside(bytes, true, true);
}

void beacon_sockets::send_to(const udp_address& to, bytes_view bytes) {
    const sockets& s = families_[to.ipv6 ? 1 : 0];
    if (s.own)
        send_by(s.own.get(), 0, to, copy_of(bytes));
}

} // namespace rivulet::discovery
