#include "bench/plans.hpp"
#include "bench/usage.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>
#include <rivulet/resolver.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

/// Many streams between two processes, which then do nothing: what each stream costs by being there.
namespace rivulet::tools::bench {
namespace {

constexpr double patience_s = 120;

void report_idle(worker_link& link, const std::string& side, double seconds) {
    const usage_meter meter(false);
    const usage before = meter.read();
    ::poll(nullptr, 0, static_cast<int>(seconds * 1000));
    const usage used = meter.read() - before;
    link.report(side + "idle_cpu_percent", used.cpu_s / seconds * 100);
    link.report(side + "idle_waits", static_cast<double>(used.waits) / seconds);
    link.report(side + "threads", static_cast<double>(thread_count()));
    link.report(side + "rss_mb", static_cast<double>(resident_memory()) * 1e-6);
}

stream_info info_of(std::uint64_t number) {
    return {.name = fmt::format("scale{}", number),
            .channel_count = 8,
            .nominal_rate_hz = 1000,
            .source_id = own_source_id(number)};
}

/// Beacons of this measurement alone, on this host alone.
config private_beacons(config settings, int run) {
    settings.session.name = fmt::format("bench-{}-{}", ::getpid(), run);
    settings.discovery.enabled = true;
    settings.discovery.port = static_cast<std::uint16_t>(20000 + ::getpid() % 10000);
    settings.discovery.multicast = false;
    settings.discovery.broadcast = false;
    settings.discovery.known_peers.clear();
    return settings;
}

/// Counts the beacons on the loopback interface.
void count_beacons(const config& settings, double seconds, worker_link& link) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(settings.discovery.port);
    ip_mreqn group{};
    group.imr_address.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || ::inet_pton(AF_INET, settings.discovery.group.c_str(), &group.imr_multiaddr) != 1 ||
        ::inet_pton(AF_INET, settings.discovery.group.c_str(), &where.sin_addr) != 1 ||
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
        ::setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0)
        throw std::runtime_error(std::string("cannot listen to beacons: ") + std::strerror(errno));
    link.ready();
    link.wait_for_go();
    std::uint64_t bytes = 0, datagrams = 0;
    char drop[2048];
    while (::recv(fd, drop, sizeof drop, MSG_DONTWAIT) >= 0) { // what came before
    }
    const double end = local_clock() + seconds;
    for (double left = seconds; left > 0; left = end - local_clock()) {
        pollfd wait{fd, POLLIN, 0};
        if (::poll(&wait, 1, static_cast<int>(left * 1000) + 1) <= 0)
            continue;
        if (const ssize_t n = ::recv(fd, drop, sizeof drop, MSG_DONTWAIT | MSG_TRUNC); n >= 0) {
            bytes += static_cast<std::uint64_t>(n);
            ++datagrams;
        }
    }
    link.report("beacon_bytes_per_s", static_cast<double>(bytes) / seconds);
    link.report("beacons_per_s", static_cast<double>(datagrams) / seconds);
    ::close(fd);
}

/// How long it takes a fresh context to find them.
findings time_to_resolve(const config& settings, std::uint64_t streams) {
    findings times;
    for (const auto& [name, minimum] : {std::pair<const char*, std::uint64_t>("first", 1), {"all", streams}}) {
        const context ctx(settings);
        const double begun = local_clock();
        const auto found =
            resolve({.name = "scale*"}, {.minimum = minimum, .timeout = std::chrono::seconds(30), .ctx = ctx});
        if (found.size() < minimum)
            throw std::runtime_error(fmt::format("found {} of {} streams", found.size(), streams));
        times[fmt::format("resolve_{}_ms", name)] = (local_clock() - begun) * 1e3;
    }
    return times;
}

findings idle_streams(carrier over, std::uint64_t streams, double seconds, const surroundings& around) {
    static int run = 0;
    const std::string path = fmt::format("{}/scale{}.", around.folder, ++run);
    const config settings = private_beacons(around.settings, run);
    worker beacons("listener to beacons", [&](worker_link& link) { count_beacons(settings, seconds, link); });
    beacons.wait_ready(around.stop, patience_s);
    worker outlets("outlets", [&](worker_link& link) {
        const context ctx(settings);
        std::vector<outlet> all;
        std::string endpoints;
        const double begun = local_clock();
        for (std::uint64_t i = 0; i < streams; ++i) {
            all.emplace_back(info_of(i), outlet_options{.endpoints = {own_endpoint(over, fmt::format("{}{}", path, i))},
                                                        .ctx = ctx});
            endpoints += all.back().endpoints().front() + ' ';
        }
        const double opened = (local_clock() - begun) / static_cast<double>(streams) * 1e6;
        link.ready(endpoints);
        link.wait_for_go();
        link.report("outlet_open_us", opened);
        report_idle(link, "outlets_", seconds);
    });
    std::istringstream list(outlets.wait_ready(around.stop, patience_s));
    worker inlets("inlets", [&](worker_link& link) {
        const findings resolving = time_to_resolve(settings, streams);
        const context ctx(settings);
        std::vector<inlet> all;
        const double begun = local_clock();
        for (std::string endpoint; list >> endpoint;)
            all.emplace_back(endpoint, inlet_options{.open_timeout = std::chrono::seconds(60), .ctx = ctx});
        const double opened = (local_clock() - begun) / static_cast<double>(streams) * 1e6;
        link.ready();
        link.wait_for_go();
        link.report("inlet_open_us", opened);
        for (const auto& [name, value] : resolving)
            link.report(name, value);
        report_idle(link, "inlets_", seconds);
    });
    inlets.wait_ready(around.stop, patience_s);
    outlets.go();
    inlets.go();
    beacons.go();
    findings found = beacons.collect(around.stop, patience_s + seconds);
    found.merge(inlets.collect(around.stop, patience_s + seconds));
    found.merge(outlets.collect(around.stop, patience_s + seconds));
    return found;
}

} // namespace

plan scale_plan(const bench_options& o, const surroundings& around) {
    plan p{.name = "scale",
           .label_names = {"link", "streams"},
           .columns = {{"outlet_open_us", "open us out"},
                       {"inlet_open_us", "in", 1, 3, true},
                       {"resolve_first_ms", "resolve ms 1st"},
                       {"resolve_all_ms", "all", 1, 3, true},
                       {"beacon_bytes_per_s", "beacons B/s"},
                       {"beacons_per_s", "/s"},
                       {"outlets_threads", "threads out"},
                       {"inlets_threads", "in"},
                       {"outlets_rss_mb", "MB out"},
                       {"inlets_rss_mb", "in"},
                       {"outlets_idle_cpu_percent", "idle CPU % out"},
                       {"inlets_idle_cpu_percent", "in"},
                       {"outlets_idle_waits", "wakes/s out"},
                       {"inlets_idle_waits", "in"}},
           .comparisons = {},
           .groups = {},
           .notes = {
               "so many outlets in one process and an inlet of each in another, then nothing is pushed; out: the "
               "outlets' process, in: the inlets'",
               "resolve: by a fresh context in the inlets' process; beacons: multicast on the loopback interface, of "
               "a session of their own",
               "open: per stream, one after another, from the constructor's call to its return"}};
    const std::vector<std::uint64_t> full = {1, 10, 100, 1000}, quick = {1, 20};
    for (const std::uint64_t streams : o.streams.value_or(o.quick ? quick : full)) {
        group g;
        for (const carrier link : o.links.value_or(all_links()))
            g.push_back({{to_string(link), number_text(streams)},
                         [=, seconds = o.seconds, &around] { return idle_streams(link, streams, seconds, around); }});
        p.groups.push_back(std::move(g));
    }
    return p;
}

} // namespace rivulet::tools::bench
