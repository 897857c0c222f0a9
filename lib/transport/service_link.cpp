#include "transport/service_link.hpp"

#include "transport/inproc/inproc_service.hpp"
#include "transport/posix/posix_service_connection.hpp"
#include "transport/posix/posix_service_listener.hpp"
#include "transport/posix/socket.hpp"
#include "transport/zmq/zmq_service_connection.hpp"
#include "transport/zmq/zmq_service_listener.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace rivulet::transport {
namespace {

/// What a backend offers for one scheme.
struct service_backend {
    std::string_view scheme;
    std::shared_ptr<service_listener> (*listen)(const endpoint&, io_context&, request_sink&);
    std::shared_ptr<service_connection> (*connect)(const endpoint&, io_context&, reply_sink&, std::size_t);
};

constexpr std::array backends{
    service_backend{"inproc", inproc::listen_service, inproc::connect_service},
    service_backend{"zmq+tcp", zmq::listen_service, zmq::connect_service},
    service_backend{"zmq+ipc", zmq::listen_service, zmq::connect_service},
    service_backend{"posix+tcp", posix::listen_service, posix::connect_service},
    service_backend{"posix+unix", posix::listen_service, posix::connect_service},
    service_backend{"posix+sctp", posix::listen_service, posix::connect_service},
};

const service_backend& backend_of(const endpoint& where) {
    const auto found = std::ranges::find(backends, where.scheme, &service_backend::scheme);
    if (found == backends.end())
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
    return backend_of(where).listen(where, io, sink);
}

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes) {
    return backend_of(where).connect(where, io, sink, max_reply_bytes);
}

endpoint service_address_for(const endpoint& data) {
    endpoint where = data;
    where.port = 0;
    where.path.clear();
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
        if (const auto one = parsed(text, endpoint_use::listen);
            one && std::ranges::count(backends, one->scheme, &service_backend::scheme) != 0)
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
