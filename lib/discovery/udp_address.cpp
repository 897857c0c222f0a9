#include "discovery/udp_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace rivulet::discovery {

bool udp_address::is_loopback() const noexcept {
    if (!ipv6)
        return bytes[0] == 127;
    return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; });
}

bool udp_address::is_link_local() const noexcept {
    return ipv6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool udp_address::is_multicast() const noexcept { return ipv6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0; }

std::string udp_address::host_text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(ipv6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
    if (!ipv6)
        return text.data();
    std::string out = std::string("[") + text.data();
    if (scope != 0) {
        std::array<char, IF_NAMESIZE> name{};
        out += '%';
        out += ::if_indextoname(scope, name.data()) ? std::string(name.data()) : std::to_string(scope);
    }
    return out + ']';
}

std::string udp_address::to_string() const { return host_text() + ':' + std::to_string(port); }

std::optional<udp_address> from_sockaddr(const sockaddr* address) noexcept {
    udp_address out;
    if (address && address->sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        std::memcpy(out.bytes.data(), &in.sin_addr, 4);
        out.port = ntohs(in.sin_port);
        return out;
    }
    if (!address || address->sa_family != AF_INET6)
        return std::nullopt;
    sockaddr_in6 in6{};
    std::memcpy(&in6, address, sizeof in6);
    out.port = ntohs(in6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
        std::memcpy(out.bytes.data(), in6.sin6_addr.s6_addr + 12, 4);
        return out;
    }
    out.ipv6 = true;
    std::memcpy(out.bytes.data(), &in6.sin6_addr, 16);
    out.scope = out.is_link_local() ? in6.sin6_scope_id : 0;
    return out;
}

socklen_t to_sockaddr(const udp_address& address, sockaddr_storage& out) noexcept {
    out = {};
    if (!address.ipv6) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(address.port);
        std::memcpy(&in.sin_addr, address.bytes.data(), 4);
        std::memcpy(&out, &in, sizeof in);
        return sizeof in;
    }
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(address.port);
    in6.sin6_scope_id = address.scope;
    std::memcpy(&in6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&out, &in6, sizeof in6);
    return sizeof in6;
}

std::optional<udp_address> parse_udp_address(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0)
        return std::nullopt;
    auto out = from_sockaddr(found->ai_addr);
    ::freeaddrinfo(found);
    if (out)
        out->port = port;
    return out;
}

} // namespace rivulet::discovery
