#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rivulet::platform {

/// A host as people write it, with or without a port.
struct host_port {
    std::string host;       ///< a name or an address, without brackets; an IPv6 scope stays ("fe80::1%eth0")
    std::uint16_t port = 0; ///< 0: none was given
};

/// "host", "host:port", "10.0.0.1:5000", "fe80::1", "[fe80::1%eth0]:5000"; nothing for anything else. Pure text: says
/// nothing about whether there is such a host.
std::optional<host_port> parse_host_port(std::string_view text);

} // namespace rivulet::platform
