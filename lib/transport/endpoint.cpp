#include "transport/endpoint.hpp"

#include "platform/text.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/un.h>

namespace rivulet::transport {
namespace {

using platform::printable;

struct scheme {
    std::string_view name;
    endpoint::family kind;
    std::string_view form; ///< shown when one is written wrongly
};

constexpr std::array<scheme, 6> schemes{{
    {"zmq+tcp", endpoint::family::tcp, "zmq+tcp://host:port"},
    {"zmq+ipc", endpoint::family::path, "zmq+ipc:///path/of/socket"},
    {"inproc", endpoint::family::name, "inproc://name"},
    {"posix+tcp", endpoint::family::tcp, "posix+tcp://host:port"},
    {"posix+unix", endpoint::family::path, "posix+unix:///path/of/socket"},
    {"posix+sctp", endpoint::family::tcp, "posix+sctp://host:port"},
}};

constexpr std::string_view separator = "://";
constexpr std::string_view key_marker = "?key=";
constexpr std::size_t key_id_digits = 16;
constexpr std::size_t max_path_bytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t max_name_bytes = 255;

bool is_alnum(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

/// Parses one text; every refusal names the whole text.
class parser {
public:
    parser(std::string_view text, endpoint_use use) : text_(text), listening_(use == endpoint_use::listen) {}

    endpoint run() {
        const auto colon = text_.find(separator);
        if (text_.empty())
            refuse("it is empty; write for example zmq+tcp://localhost:5000");
        if (colon == std::string_view::npos)
            refuse("it has no scheme; write for example zmq+tcp://" + printable(text_));
        form_ = find_scheme(text_.substr(0, colon));
        endpoint out{std::string(form_->name), form_->kind, "", 0, ""};
        std::string_view rest = text_.substr(colon + separator.size());
        if (const auto marker = rest.rfind(key_marker); out.over_zmq() && marker != std::string_view::npos) {
            out.key = key_id(rest.substr(marker + key_marker.size()));
            rest = rest.substr(0, marker);
        }
        switch (form_->kind) {
        case endpoint::family::tcp: parse_tcp(rest, out); break;
        case endpoint::family::path: parse_path(rest, out); break;
        case endpoint::family::name: parse_name(rest, out); break;
        }
        return out;
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        const std::string form = form_ == nullptr ? "" : fmt::format(" (the form is {})", form_->form);
        throw error(errc::bad_endpoint, fmt::format("endpoint \"{}\": {}{}", printable(text_), why, form));
    }

    const scheme* find_scheme(std::string_view name) const {
        const auto same = [&](const scheme& s) { return s.name == name; };
        if (const auto* found = std::find_if(schemes.begin(), schemes.end(), same); found != schemes.end())
            return found;
        std::array<std::string_view, schemes.size()> names;
        std::transform(schemes.begin(), schemes.end(), names.begin(), [](const scheme& s) { return s.name; });
        const std::string lower = lower_case(name);
        std::string_view near = platform::nearest(name, names);
        if (lower == "tcp" || lower == "udp" || lower == "http")
            near = "zmq+tcp";
        if (lower == "ipc" || lower == "unix" || lower == "file")
            near = "zmq+ipc";
        if (!near.empty())
            refuse(fmt::format("unknown scheme \"{}\"; write {}://", printable(name), near));
        refuse(fmt::format(
            "unknown scheme \"{}\"; there are zmq+tcp://, zmq+ipc://, inproc://, posix+tcp://, posix+unix:// "
            "and posix+sctp://",
            printable(name)));
    }

    std::string key_id(std::string_view text) const {
        if (text.size() != key_id_digits ||
            !std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }))
            refuse(
                fmt::format("\"{}\" is no id of a key; ids have {} hexadecimal digits, and stream-keygen prints them",
                            printable(text), key_id_digits));
        return std::string(text);
    }

    void parse_tcp(std::string_view rest, endpoint& out) const {
        const bool bracket = rest.starts_with('[');
        const auto end = bracket ? rest.find(']') : rest.find(':');
        if (bracket && end == std::string_view::npos)
            refuse("the ] after the IPv6 address is missing");
        if (bracket) {
            out.host = ipv6(rest.substr(1, end - 1));
        } else {
            if (rest.find(':', std::min(end, rest.size() - 1) + 1) != std::string_view::npos)
                refuse("more than one ':'; put an IPv6 address in brackets, as in zmq+tcp://[::1]:5000");
            out.host = host(rest.substr(0, end));
        }
        rest.remove_prefix(std::min(rest.size(), bracket ? end + 1 : end));
        if (rest.empty() || rest == ":")
            refuse(listening_ ? "the port is missing; write a number, or * for a free one" : "the port is missing");
        if (rest.front() != ':')
            refuse("after the ] must come : and the port");
        out.port = port(rest.substr(1));
        if (!listening_ && out.wildcard_host())
            refuse("it names no host to connect to; write a host name or an address");
        if (!listening_ && out.port == 0)
            refuse("it names no port to connect to; write the one that the outlet uses");
    }

    std::string ipv6(std::string_view text) const {
        const auto percent = text.find('%');
        const std::string address(text.substr(0, percent));
        in6_addr bits{};
        // inet_pton stops at a NUL.
        if (address.find('\0') != std::string::npos || ::inet_pton(AF_INET6, address.c_str(), &bits) != 1)
            refuse(fmt::format("\"{}\" is no IPv6 address", printable(address)));
        std::array<char, INET6_ADDRSTRLEN> shortest{};
        std::string out = ::inet_ntop(AF_INET6, &bits, shortest.data(), shortest.size());
        if (percent == std::string_view::npos)
            return out;
        const std::string_view scope = text.substr(percent + 1);
        if (scope.empty() || scope.size() >= IF_NAMESIZE || !std::all_of(scope.begin(), scope.end(), [](char c) {
                return is_alnum(c) || c == '.' || c == '_' || c == '-';
            }))
            refuse(fmt::format("\"{}\" is no interface; write its name after the %, as in [fe80::1%eth0]",
                               printable(scope)));
        return out.append("%").append(scope);
    }

    std::string host(std::string_view text) const {
        if (text.empty())
            refuse(listening_ ? "the host is missing; write * for all interfaces" : "the host is missing");
        if (text == "*")
            return "*";
        const bool letters = std::all_of(text.begin(), text.end(),
                                         [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
        constexpr std::size_t longest = 253;
        if (!letters || text.size() > longest || text.front() == '.' || text.find("..") != std::string_view::npos)
            refuse(fmt::format("\"{}\" is no host name or address", printable(text)));
        // A name whose last label is a number would be taken for an address by some resolvers: 10.1 is 10.0.0.1.
        const std::string_view last = text.substr(text.rfind('.') + 1);
        in_addr bits{};
        std::string out(text);
        if (!last.empty() && std::all_of(last.begin(), last.end(), is_digit) &&
            ::inet_pton(AF_INET, out.c_str(), &bits) != 1)
            refuse(fmt::format("\"{}\" is no IPv4 address", printable(text)));
        return out;
    }

    std::uint16_t port(std::string_view text) const {
        if (text == "*")
            return 0;
        unsigned number = 0;
        const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem == std::errc::invalid_argument)
            refuse(fmt::format("the port \"{}\" is no number", printable(text)));
        if (stop != text.data() + text.size())
            refuse(fmt::format("nothing may follow the port, but there is \"{}\"",
                               printable(text.substr(static_cast<std::size_t>(stop - text.data())))));
        if (problem != std::errc{} || number > 65535)
            refuse(fmt::format("port {} is out of range; allowed: 1 to 65535", printable(text)));
        return static_cast<std::uint16_t>(number);
    }

    void parse_path(std::string_view rest, endpoint& out) const {
        if (rest.empty())
            refuse("the path is missing");
        if (rest == "*") {
            if (!listening_)
                refuse("it names no path to connect to; write the one that the outlet uses");
            return;
        }
        if (rest.front() == '@')
            refuse("abstract sockets are not offered; write a path that begins with /");
        if (rest.front() != '/')
            refuse(
                fmt::format("a relative path depends on where a program was started; write {}:///... from the root on",
                            form_->name));
        check_characters(rest, "the path");
        if (rest.back() == '/')
            refuse("the path names a folder; add the name of the socket");
        if (rest.size() > max_path_bytes)
            throw error(
                errc::path_too_long,
                fmt::format("endpoint \"{}\": the path has {} bytes, but sockets take at most {}; use a shorter "
                            "one, for example below /tmp or /run",
                            printable(text_), rest.size(), max_path_bytes));
        out.path = rest;
    }

    void parse_name(std::string_view rest, endpoint& out) const {
        if (rest.empty())
            refuse("the name is missing");
        if (rest == "*")
            refuse("* stands for nothing here; write a name");
        if (rest.size() > max_name_bytes)
            refuse(fmt::format("the name has {} bytes; allowed: 1 to {}", rest.size(), max_name_bytes));
        check_characters(rest, "the name");
        out.path = rest;
    }

    void check_characters(std::string_view text, std::string_view what) const {
        const bool control = std::any_of(text.begin(), text.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
        });
        if (control || !platform::is_utf8(text))
            refuse(fmt::format("{} has control characters or is no UTF-8", what));
    }

    std::string_view text_;
    bool listening_;
    const scheme* form_ = nullptr;
};

} // namespace

std::string endpoint::to_string() const {
    const std::string suffix = key.empty() ? std::string() : std::string(key_marker) + key;
    if (kind != family::tcp)
        return fmt::format("{}://{}{}", scheme, path.empty() ? "*" : path, suffix);
    const std::string port_text = port == 0 ? "*" : std::to_string(port);
    return fmt::format(fmt::runtime(ipv6_literal() ? "{}://[{}]:{}{}" : "{}://{}:{}{}"), scheme, host, port_text,
                       suffix);
}

endpoint parse_endpoint(std::string_view text, endpoint_use use) { return parser(text, use).run(); }

} // namespace rivulet::transport
