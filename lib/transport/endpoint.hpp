#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rivulet::transport {

/// An endpoint string taken apart: zmq+tcp://host:port, zmq+ipc:///path, posix+tcp://..., posix+unix:///path,
/// inproc://name. The zmq ones may end in ?key=ID.
struct endpoint {
    enum class family : std::uint8_t { tcp, path, name };

    std::string scheme; ///< "zmq+tcp", "zmq+ipc", "inproc", ...
    family kind = family::tcp;
    std::string host;       ///< tcp: name or address without brackets; "*" = all interfaces
    std::uint16_t port = 0; ///< tcp: 0 = ephemeral ("*")
    std::string path;       ///< path and name families; "" = choose one (path family only)
    std::string key{};      ///< zmq: id of the key that the outlet has there (rivulet::key_id); "" = plain, or not said

    bool wildcard_host() const noexcept { return host == "*" || host == "0.0.0.0" || host == "::"; }
    bool over_zmq() const noexcept { return scheme.starts_with("zmq+"); }
    bool ipv6_literal() const noexcept { return host.find(':') != std::string::npos; }
    std::string to_string() const; ///< in the syntax that parse_endpoint takes; IPv6 in brackets
};

/// What an endpoint is to be used for: `*` host, port and path are allowed for listening only.
enum class endpoint_use : std::uint8_t { listen, connect };

/// @throws error bad_endpoint: names the text, what is wrong with it, and shows the right form; path_too_long for
/// socket paths beyond sun_path.
endpoint parse_endpoint(std::string_view text, endpoint_use use);

} // namespace rivulet::transport
