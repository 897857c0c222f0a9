#include "platform/host_port.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <net/if.h>

namespace rivulet::platform {
namespace {

bool is_alnum(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view text) {
    constexpr std::size_t longest = 253;
    return !text.empty() && text.size() <= longest && text.front() != '.' && text.find("..") == std::string::npos &&
           std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_ipv6(std::string_view text) {
    const auto percent = text.find('%');
    const std::string address(text.substr(0, percent));
    in6_addr bits{};
    if (address.find('\0') != std::string::npos || ::inet_pton(AF_INET6, address.c_str(), &bits) != 1)
        return false;
    if (percent == std::string_view::npos)
        return true;
    const std::string_view scope = text.substr(percent + 1);
    return scope.size() < IF_NAMESIZE && is_name(scope);
}

std::optional<std::uint16_t> read_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (problem != std::errc{} || stop != text.data() + text.size() || port == 0)
        return std::nullopt;
    return port;
}

} // namespace

std::optional<host_port> parse_host_port(std::string_view text) {
    if (is_ipv6(text))
        return host_port{std::string(text), 0};
    std::string_view host = text;
    std::string_view rest;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1)))
            return std::nullopt;
        host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else {
        host = text.substr(0, text.find(':'));
        rest = text.substr(host.size());
        if (!is_name(host))
            return std::nullopt;
    }
    if (rest.empty())
        return host_port{std::string(host), 0};
    const auto port = rest.starts_with(':') ? read_port(rest.substr(1)) : std::nullopt;
    return port ? std::optional(host_port{std::string(host), *port}) : std::nullopt;
}

} // namespace rivulet::platform
