#include "fuzz_target.hpp"

#include <transport/endpoint.hpp>
#include <transport/endpoint_choice.hpp>

#include <rivulet/error.hpp>

#include <optional>
#include <sys/un.h>

using namespace rivulet;
using fuzz::require;
using transport::endpoint;
using transport::endpoint_use;

namespace {

std::optional<endpoint> parse(std::string_view text, endpoint_use use) {
    try {
        return transport::parse_endpoint(text, use);
    } catch (const error& e) {
        require(e.code() == errc::bad_endpoint || e.code() == errc::path_too_long, "a bad endpoint is called that");
        require(std::string_view(e.what()).size() < 2000, "its complaint can be read");
        return std::nullopt;
    }
}

bool same(const endpoint& a, const endpoint& b) {
    return a.scheme == b.scheme && a.kind == b.kind && a.host == b.host && a.port == b.port && a.path == b.path;
}

void check(const endpoint& e, endpoint_use use) {
    require(e.kind != endpoint::family::tcp || (!e.host.empty() && e.path.empty()), "TCP has a host and no path");
    require(e.kind == endpoint::family::tcp || (e.host.empty() && e.port == 0), "a path has no host");
    require(e.kind != endpoint::family::path || e.path.size() < sizeof(sockaddr_un::sun_path), "a path fits a socket");
    require((e.host + e.path).find('\0') == std::string::npos, "no text ends in its middle");
    const auto again = parse(e.to_string(), use);
    require(again && same(*again, e), "what is written again means the same");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::as_text(data, size));
    const auto listens = parse(text, endpoint_use::listen);
    const auto connects = parse(text, endpoint_use::connect);
    fuzz::count(listens || connects);
    if (listens) {
        check(*listens, endpoint_use::listen);
        std::vector<std::string> advertised;
        transport::add_advertised(text, listens->to_string(), {"lab-pc", "::1"}, advertised);
        require(advertised.size() <= 3, "few ways to reach it");
        for (const std::string& one : advertised)
            require(parse(one, endpoint_use::listen).has_value(), "what is advertised is an endpoint");
    }
    if (connects) {
        check(*connects, endpoint_use::connect);
        require(connects->kind != endpoint::family::tcp || (connects->port != 0 && !connects->wildcard_host()),
                "one connects to a host and a port");
    }
    return 0;
}
