#include "transport/service_link.hpp"

#include "transport/backends.hpp"
#include "transport/policy.hpp"
#include "transport/posix/socket.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <optional>

namespace rivulet::transport {
namespace {

const backend& backend_of(const endpoint& where) {
    const backend* const found = find_backend(where.scheme);
    if (!found)
        throw error(errc::not_supported,
                    "endpoint " + where.to_string() + ": this build has no service for " + where.scheme);
    return *found;
}

constexpr std::size_t max_candidates = 8;

std::optional<endpoint> parsed(std::string_view text, endpoint_use use) {
    try {
        return parse_endpoint(text, use);
    } catch (const error&) {
        return std::nullopt;
    }
}

/// Same scheme first, then the same kind of address, then the rest.
int distance(const endpoint& service, const endpoint& data) {
    return service.scheme == data.scheme ? 0 : service.kind == data.kind ? 1 : 2;
}

} // namespace

std::shared_ptr<service_listener> open_service_listener(const endpoint& where, io_context& io, request_sink& sink) {
    check_policy(where, endpoint_use::listen, io);
    return backend_of(where).listen_service(where, io, sink);
}

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes) {
    check_policy(where, endpoint_use::connect, io);
    return backend_of(where).connect_service(where, io, sink, max_reply_bytes);
}

endpoint service_address_for(const endpoint& data) {
    endpoint where = data;
    where.port = 0;
    where.path.clear();
    where.key.clear();
    if (data.wildcard_host())
        where.host = "*";
    // Whoever reaches the data socket's folder reaches this, in a container too.
    if (data.kind == endpoint::family::path && !data.path.empty())
        where.path = data.path.substr(0, data.path.rfind('/') + 1);
    return where;
}

std::vector<std::string> numeric_forms(std::string_view data) {
    std::vector<std::string> result;
    if (const auto where = parsed(data, endpoint_use::connect); where && where->kind == endpoint::family::tcp)
        for (const endpoint& address : posix::with_addresses(*where, true))
            result.push_back(address.to_string());
    if (result.empty())
        result.emplace_back(data);
    return result;
}

std::vector<endpoint> reachable_services(const std::vector<std::string>& service, std::string_view data, bool names) {
    std::vector<endpoint> result;
    const auto reached = parsed(data, endpoint_use::connect);
    if (!reached)
        return result;
    std::vector<endpoint> offered;
    for (const std::string& text : service)
        if (const auto one = parsed(text, endpoint_use::listen); one && find_backend(one->scheme))
            offered.push_back(*one);
    std::ranges::stable_sort(offered, {}, [&](const endpoint& e) { return distance(e, *reached); });
    for (endpoint& where : offered) {
        if (result.size() >= max_candidates)
            break;
        if (where.kind != endpoint::family::tcp) {
            if (!where.path.empty())
                result.push_back(where);
            continue;
        }
        if (where.port == 0)
            continue;
        if (where.wildcard_host())
            where.host = reached->kind == endpoint::family::tcp ? reached->host : "127.0.0.1";
        for (endpoint& address : posix::with_addresses(where, names))
            if (result.size() < max_candidates)
                result.push_back(std::move(address));
    }
    return result;
}

} // namespace rivulet::transport
