#include "bench/plans.hpp"
#include "bench/usage.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sstream>

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
    return {.name = fmt::format("scale{}", number), .channel_count = 8, .nominal_rate_hz = 1000};
}

findings idle_streams(carrier over, std::uint64_t streams, double seconds, const surroundings& around) {
    static int run = 0;
    const std::string path = fmt::format("{}/scale{}.", around.folder, ++run);
    worker outlets("outlets", [&](worker_link& link) {
        const context ctx(around.settings);
        const bool host = over == carrier::posix_tcp || over == carrier::zmq_tcp;
        std::vector<outlet> all;
        std::string endpoints;
        const double begun = local_clock();
        for (std::uint64_t i = 0; i < streams; ++i) {
            const std::string where = host ? std::string("127.0.0.1:*") : fmt::format("{}{}", path, i);
            all.emplace_back(info_of(i),
                             outlet_options{.endpoints = {fmt::format("{}://{}", to_string(over), where)}, .ctx = ctx});
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
        const context ctx(around.settings);
        std::vector<inlet> all;
        const double begun = local_clock();
        for (std::string endpoint; list >> endpoint;)
            all.emplace_back(endpoint, inlet_options{.open_timeout = std::chrono::seconds(60), .ctx = ctx});
        const double opened = (local_clock() - begun) / static_cast<double>(streams) * 1e6;
        link.ready();
        link.wait_for_go();
        link.report("inlet_open_us", opened);
        report_idle(link, "inlets_", seconds);
    });
    inlets.wait_ready(around.stop, patience_s);
    outlets.go();
    inlets.go();
    findings found = inlets.collect(around.stop, patience_s + seconds);
    found.merge(outlets.collect(around.stop, patience_s + seconds));
    return found;
}

} // namespace

plan scale_plan(const bench_options& o, const surroundings& around) {
    plan p{.name = "scale",
           .label_names = {"link", "streams"},
           .columns = {{"outlet_open_us", "open us out"},
                       {"inlet_open_us", "in", 1, 3, true},
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
           .notes = {"so many outlets in one process and an inlet of each in another, then nothing is pushed; out: the "
                     "outlets' process, in: the inlets'",
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
