#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>

namespace rivulet::discovery {

/// Where a datagram comes from or goes to. A plain value.
struct udp_address {
    std::array<std::uint8_t, 16> bytes{}; ///< IPv4: the first four
    bool ipv6 = false;
    std::uint16_t port = 0;
    std::uint32_t scope = 0; ///< index of the interface that an IPv6 link-local address belongs to, else 0

    std::size_t size() const noexcept { return ipv6 ? 16 : 4; }
    bool is_loopback() const noexcept;
    bool is_link_local() const noexcept;
    bool is_multicast() const noexcept;
    /// The same host, whatever the port.
    bool same_host(const udp_address& other) const noexcept {
        return bytes == other.bytes && ipv6 == other.ipv6 && scope == other.scope;
    }
    /// As it stands in an endpoint: "10.0.0.1", "[fe80::1%eth0]" (the interface by its name, if it still has one).
    std::string host_text() const;
    std::string to_string() const; ///< with the port

    friend auto operator<=>(const udp_address&, const udp_address&) = default;
};

/// Nothing for other families than IPv4 and IPv6. IPv4 addresses mapped into IPv6 become IPv4.
std::optional<udp_address> from_sockaddr(const sockaddr* address) noexcept;
/// @return the size of what was written.
socklen_t to_sockaddr(const udp_address& address, sockaddr_storage& out) noexcept;
/// From numbers only, "127.0.0.1" or "fe80::1%eth0"; nothing for names.
std::optional<udp_address> parse_udp_address(const std::string& host, std::uint16_t port);

} // namespace rivulet::discovery
