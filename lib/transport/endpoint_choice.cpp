#include "transport/endpoint_choice.hpp"

#include "platform/futex.hpp"
#include "platform/host_port.hpp"
#include "transport/endpoint.hpp"
#include "transport/posix/socket.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <poll.h>

namespace rivulet::transport {
namespace {

using platform::clock;
using platform::time_point;

/// One attempt to connect to a candidate; several, where its host has several addresses.
struct attempt {
    std::size_t candidate;
    platform::unique_fd socket;
};

enum class outcome { refused, under_way, accepted };

outcome begin(const endpoint& where, const posix::socket_address& to, platform::unique_fd& socket) {
    socket = posix::make_socket(where, to.family());
    if (::connect(socket.get(), to.get(), to.size) == 0)
        return outcome::accepted;
    if (errno == EAGAIN) // a unix socket whose queue is full
        return outcome::accepted;
    return errno == EINPROGRESS ? outcome::under_way : outcome::refused;
}

/// Goes on with the attempts until the best candidate that may still be accepted has been, or time is up.
void wait_for_best(std::vector<attempt>& attempts, std::vector<outcome>& outcomes, time_point deadline) {
    for (;;) {
        const auto best = std::ranges::find(outcomes, outcome::accepted);
        const bool better_to_come =
            std::find(outcomes.begin(), best, outcome::under_way) != best; // with none accepted, any is better
        const time_point now = clock::now();
        if (!better_to_come || now >= deadline)
            return;
        std::vector<pollfd> fds;
        for (const attempt& a : attempts)
            fds.push_back({a.socket.get(), POLLOUT, 0});
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
        ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(ms, INT_MAX)));
        for (std::size_t i = fds.size(); i-- > 0;) {
            if (fds[i].revents == 0)
                continue;
            const std::size_t candidate = attempts[i].candidate;
            const bool good = posix::connect_error(fds[i].fd) == 0;
            attempts.erase(attempts.begin() + static_cast<std::ptrdiff_t>(i));
            if (good)
                outcomes[candidate] = outcome::accepted;
            else if (outcomes[candidate] == outcome::under_way &&
                     std::ranges::find(attempts, candidate, &attempt::candidate) == attempts.end())
                outcomes[candidate] = outcome::refused;
        }
    }
}

outcome begin_all(const std::string& text, std::size_t candidate, std::vector<attempt>& attempts) {
    outcome all = outcome::refused;
    try {
        const endpoint where = parse_endpoint(text, endpoint_use::connect);
        if (where.kind == endpoint::family::name)
            return outcome::refused;
        for (const auto& address : posix::resolve(where, endpoint_use::connect)) {
            attempt a{candidate, {}};
            const outcome got = begin(where, address, a.socket);
            all = std::max(all, got);
            if (got == outcome::under_way)
                attempts.push_back(std::move(a));
        }
    } catch (const error&) { // a name without an address, a scheme that this host lacks
    }
    return all;
}

bool is_path(const std::string& text) { return text.find(":///") != std::string::npos; }

} // namespace

void add_advertised(std::string_view asked, const std::string& actual, const std::vector<std::string>& hosts,
                    std::vector<std::string>& out) {
    const endpoint wanted = parse_endpoint(asked, endpoint_use::listen);
    endpoint where = parse_endpoint(actual, endpoint_use::listen);
    if (where.kind == endpoint::family::name)
        return;
    if (where.kind == endpoint::family::path || !wanted.wildcard_host()) {
        out.push_back(actual);
        return;
    }
    for (const std::string& host : hosts)
        if (const auto parsed = platform::parse_host_port(host)) {
            where.host = parsed->host;
            out.push_back(where.to_string());
        }
    where.host = wanted.host;
    out.push_back(where.to_string());
}

std::vector<std::string> order_endpoints(const std::vector<std::string>& endpoints, std::chrono::nanoseconds patience) {
    if (endpoints.size() < 2)
        return endpoints;
    std::vector<std::string> candidates = endpoints;
    // Not of std::ranges: clang 14 cannot compile the subrange that it returns.
    const auto first_other = std::stable_partition(candidates.begin(), candidates.end(), is_path);
    const auto paths = static_cast<std::size_t>(first_other - candidates.begin());
    std::vector<attempt> attempts;
    std::vector<outcome> outcomes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        // Where a path opens, nobody else is bothered.
        const bool enough = i >= paths && std::ranges::find(outcomes, outcome::accepted) != outcomes.end();
        outcomes.push_back(enough ? outcome::refused : begin_all(candidates[i], i, attempts));
    }
    wait_for_best(attempts, outcomes, platform::deadline_after(clock::now(), patience));
    std::vector<std::string> out;
    for (const bool good : {true, false})
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if ((outcomes[i] == outcome::accepted) == good && (good || i >= paths))
                out.push_back(candidates[i]);
    return out.empty() ? candidates : out;
}

} // namespace rivulet::transport
