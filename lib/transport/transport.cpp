#include "transport/transport.hpp"

#include "transport/backends.hpp"
#include "transport/endpoint.hpp"
#include "transport/policy.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <algorithm>
#include <climits>
#include <string>

namespace rivulet::transport {
namespace {

const backend& backend_of(const endpoint& where) {
    const backend* const found = find_backend(where.scheme);
    if (!found)
        throw error(errc::not_supported, "endpoint " + where.to_string() + ": this build has no backend for " +
                                             where.scheme + "; use zmq+tcp, zmq+ipc, posix+tcp, posix+unix or inproc");
    return *found;
}

} // namespace

void poll_set::wait(time_point now) {
    int timeout = -1;
    if (wake_at != time_point::max()) {
        // Rounded up: waking early would spin.
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wake_at - now).count();
        timeout = static_cast<int>(std::clamp<std::int64_t>(ms, 0, INT_MAX));
    }
    ::poll(fds.data(), fds.size(), timeout);
}

wire::hello make_hello(const inlet_environment& environment) {
    wire::hello hello;
    hello.name = environment.name;
    if (const auto history = environment.start.history; history.count() > 0)
        hello.history_ns = history == forever ? UINT64_MAX : static_cast<std::uint64_t>(history.count());
    resume_point resume = environment.sink->where_to_resume();
    hello.tok = resume.id;
    hello.resume_uid = std::move(resume.uid);
    hello.resume_from = resume.sequence;
    return hello;
}

wire::info_frame describe_stream(const outlet_environment& environment, const stream_segment& segment,
                                 std::uint64_t next, bool inproc) {
    wire::info_frame frame;
    frame.info = *segment.info;
    frame.next_sequence = next;
    for (const std::string& endpoint : environment.service)
        if (endpoint.starts_with("inproc") == inproc)
            frame.service.push_back(endpoint);
    return frame;
}

start_point start_of(const outlet_environment& environment, const wire::hello* hello) {
    const samples::sample_log& log = *environment.log;
    if (hello && !hello->resume_uid.empty())
        if (const segment_share found = environment.segments->find(hello->resume_uid, hello->resume_from)) {
            // It may have missed the end of a segment that is over: from there it goes on into the next.
            const std::uint64_t end = std::min(log.head(), found->end.load(std::memory_order_seq_cst));
            const std::uint64_t wanted =
                std::clamp(hello->resume_from, found->begin - found->base, end - found->base) + found->base;
            return {found, std::max(wanted, std::min(log.oldest(), end))};
        }
    std::uint64_t position = log.head();
    if (hello && hello->history_ns == UINT64_MAX)
        position = log.oldest();
    else if (hello && hello->history_ns > 0)
        position = log.position_since(local_clock() - static_cast<double>(hello->history_ns) * 1e-9);
    const segment_share in = environment.segments->current_at(position);
    return {in, std::max(position, in->begin)};
}

std::unique_ptr<outlet_link> open_outlet_link(std::string_view text, const outlet_environment& environment) {
    const endpoint where = parse_endpoint(text, endpoint_use::listen);
    check_policy(where, endpoint_use::listen, *environment.io);
    return backend_of(where).listen(where, environment);
}

std::unique_ptr<inlet_link> open_inlet_link(std::string_view text, const inlet_environment& environment) {
    const endpoint where = parse_endpoint(text, endpoint_use::connect);
    check_policy(where, endpoint_use::connect, *environment.io);
    return backend_of(where).connect(where, environment);
}

} // namespace rivulet::transport
