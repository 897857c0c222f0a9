#include "bench/group_builder.hpp"
#include "bench/plans.hpp"
#include "bench/usage.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <cstring>

namespace rivulet::tools::bench {
namespace {

constexpr std::uint64_t counted_chunks = 200;
constexpr double counted_per_s = 1000;

/// System calls and allocations of a calm run, which nobody times.
findings count_calls(work w, const surroundings& around) {
    w.counted = true;
    w.warm_up_s = 0;
    w.rate_hz = static_cast<double>(w.chunk) * counted_per_s;
    w.max_chunks = counted_chunks;
    w.seconds = 30;
    findings counted;
    for (const auto& [name, value] : transfer(w, around))
        if (name.find("_calls") != std::string::npos || name.find("_allocations") != std::string::npos)
            counted[name] = value;
    return counted;
}

group_builder transfers(const surroundings& around, std::vector<std::string> more_labels, bool counts) {
    group_builder::measurement count;
    if (counts)
        count = [&around](const work& w) { return count_calls(w, around); };
    return {[&around](const work& w) { return transfer(w, around); }, std::move(count), std::move(more_labels)};
}

template<class T>
std::vector<T> list(const std::optional<std::vector<T>>& given, bool quick, std::vector<T> full, std::vector<T> small) {
    return given ? *given : quick ? std::move(small) : std::move(full);
}

work base_work(const bench_options& o) {
    work w;
    w.int16 = o.int16;
    w.given_stamps = o.given_stamps;
    w.seconds = o.seconds;
    w.warm_up_s = 0.3 * o.seconds;
    w.buffer_bytes = o.buffer_bytes;
    return w;
}

void note_counting(plan& p) {
    p.notes.emplace_back("calls and allocations: of a run of its own, 200 chunks at 1000 a second, all threads of a "
                         "side; all costs per MB: --json");
    if (const std::string why = why_no_system_calls(); !why.empty())
        p.notes.push_back(why);
}

/// A push of that many bytes.
void set_size(work& w, std::uint64_t bytes) {
    w.channels = bytes < 16000 ? 1 : 1000;
    w.chunk = std::max<std::uint64_t>(1, bytes / w.sample_bytes());
}

const std::vector<std::uint64_t> all_sizes = {4, 400, 4000, 40000, 120000, 1000000};

findings copy_memory(const work& w, const surroundings& around) {
    const auto body = [&w](worker_link& link) {
        const std::size_t bytes = w.chunk_bytes();
        const std::size_t copies = std::clamp<std::size_t>((4u << 20) / bytes, 2, 1u << 16);
        std::vector<std::byte> from(copies * bytes, std::byte{1}), to(copies * bytes);
        link.ready();
        link.wait_for_go();
        std::uint64_t chunks = 0;
        const double begun = local_clock();
        double at = begun;
        for (; at < begun + w.seconds; at = local_clock())
            for (std::size_t i = 0; i < copies; ++i, ++chunks) {
                std::memcpy(to.data() + i * bytes, from.data() + i * bytes, bytes);
                asm volatile("" : : "r"(to.data()) : "memory");
            }
        const double per_s = static_cast<double>(chunks * w.chunk) / (at - begun);
        link.report("per_s", per_s);
        link.report("mb_per_s", per_s * static_cast<double>(w.sample_bytes()) * 1e-6);
        link.report("sender_cpu_us", (at - begun) / static_cast<double>(chunks) * 1e6);
    };
    worker copier("memcpy", body);
    copier.wait_ready(around.stop, 60);
    copier.go();
    return copier.collect(around.stop, 60 + w.seconds);
}

} // namespace

plan raw_plan(const bench_options& o, const surroundings& around) {
    plan p{.name = "raw",
           .label_names = {"link", "how", "bytes", "consumers"},
           .columns = {{"per_s", "samples/s"},
                       {"mb_per_s", "MB/s", 1, 3, true},
                       {"rate_ratio", "of memcpy", 1, 2},
                       {"sender_cpu_us", "send us"},
                       {"receiver_cpu_us", "recv us"},
                       {"sender_calls", "send calls"},
                       {"receiver_calls", "recv calls"},
                       {"sender_waits", "send waits"},
                       {"receiver_waits", "recv waits"},
                       {"lost", "lost"}},
           .comparisons = {{"rate_ratio", "mb_per_s"}},
           .groups = {},
           .notes = {"us, calls, waits (voluntary context switches): per chunk"}};
    note_counting(p);
    for (const std::uint64_t bytes : list(o.sizes, o.quick, all_sizes, {4, 120000}))
        for (const std::uint64_t consumers : list(o.consumers, o.quick, {1}, {1})) {
            work w = base_work(o);
            set_size(w, bytes);
            w.consumers = std::max<std::uint64_t>(consumers, 1);
            group_builder cells = transfers(around, {number_text(w.chunk_bytes()), number_text(w.consumers)}, true);
            group g = [&] {
                for (const carrier link : all_links()) {
                    w.over = link;
                    std::vector<way> loops = {way::zmq_copied, way::zmq_zero_copy, way::zmq_released};
                    if (!is_zmq(link))
                        loops = {way::plain};
                    if (!is_zmq(link) && w.chunk_bytes() < 16000)
                        loops.push_back(way::plain_batched);
                    for (const way how : loops) {
                        w.how = how;
                        cells.add(w, to_string(how), std::nullopt);
                    }
                }
                return cells.take();
            }();
            for (cell& c : g)
                c.baseline = g.size();
            cell copy{{"-", "memcpy", number_text(w.chunk_bytes()), "-"},
                      [w, &around] { return copy_memory(w, around); }};
            g.push_back(std::move(copy));
            p.groups.push_back(std::move(g));
        }
    return p;
}

plan matrix_plan(const bench_options& o, const surroundings& around) {
    plan p{
        .name = "matrix",
        .label_names = {"link", "how", "channels", "hz", "chunk", "consumers"},
        .columns = {{"sender_net_cpu_us", "send us", 1, 3, true},
                    {"cpu_ratio", "ratio", 1, 3, true},
                    {"receiver_cpu_us", "recv us"},
                    {"receiver_cpu_ratio", "ratio"},
                    {"push_p50_us", "push p50"},
                    {"push_p99_us", "p99"},
                    {"lost", "lost"},
                    {"sender_calls", "calls s"},
                    {"receiver_calls", "calls r"},
                    {"sender_allocations", "alloc s"},
                    {"receiver_allocations", "alloc r"},
                    {"sender_waits", "waits s"},
                    {"receiver_waits", "waits r"},
                    {"sender_rss_mb", "MB s"},
                    {"receiver_rss_mb", "MB r"}},
        .comparisons = {{"cpu_ratio", "sender_net_cpu_us"},
                        {"receiver_cpu_ratio", "receiver_cpu_us"},
                        {"calls_ratio", "sender_calls"},
                        {"receiver_calls_ratio", "receiver_calls"},
                        {"rate_ratio", "per_s"}},
        .groups = {},
        .notes = {"us of CPU, calls, allocations, waits (voluntary context switches): per chunk; s sender, r receiver",
                  "ratio: to plain (posix), libzmq-zero-copy (zmq, async), libzmq-released (zmq, sync)",
                  "paced: what pacing alone costs is subtracted from the sender's CPU"}};
    note_counting(p);
    const auto modes = list(o.modes, o.quick, {mode{way::sync}, mode{way::async}}, {mode{way::sync}, mode{way::async}});
    for (const std::uint64_t channels : list(o.channels, o.quick, {1000}, {100}))
        for (const double rate : list(o.rates, o.quick, {30000.0}, {0.0}))
            for (const std::uint64_t chunk : list(o.chunks, o.quick, {1, 4, 8, 16, 30}, {30}))
                for (const std::uint64_t consumers : list(o.consumers, o.quick, {1}, {1}))
                    for (const carrier link : o.links.value_or(all_links())) {
                        work w = base_work(o);
                        w.over = link;
                        w.channels = channels;
                        w.rate_hz = rate;
                        w.chunk = chunk;
                        w.consumers = consumers;
                        w.copy_out = true;
                        group_builder cells = transfers(
                            around,
                            {number_text(channels), number_text(rate), number_text(chunk), number_text(consumers)},
                            true);
                        if (rate > 0)
                            cells.plain(w, way::nothing);
                        for (const mode& m : modes)
                            cells.add_ours(w, m);
                        p.groups.push_back(cells.take());
                    }
    return p;
}

plan latency_plan(const bench_options& o, const surroundings& around) {
    plan p{.name = "latency",
           .label_names = {"link", "how", "streams", "channels", "hz"},
           .columns = {{"latency_p50_us", "p50 us", 1, 3, true},
                       {"p50_ratio", "ratio", 1, 3, true},
                       {"latency_p99_us", "p99 us"},
                       {"p99_ratio", "ratio"},
                       {"latency_mean_us", "mean"},
                       {"latency_sigma_us", "sigma"},
                       {"latency_min_us", "min"},
                       {"latency_max_us", "max"},
                       {"per_s", "samples/s"},
                       {"lost", "lost"},
                       {"sender_waits", "waits s"},
                       {"receiver_waits", "waits r"}},
           .comparisons = {{"p50_ratio", "latency_p50_us"}, {"p99_ratio", "latency_p99_us"}},
           .groups = {},
           .notes = {"from the clock read before the push to the one read after the pull; samples pushed one by one",
                     "ratio: to plain (posix), libzmq-zero-copy (zmq, async), libzmq-released (zmq, sync)",
                     "-spin: the inlet spins up to 2 ms before it sleeps (busy_poll), at the cost of a core"}};
    const std::vector<mode> all = {{way::async}, {way::sync}, {way::async, true}, {way::sync, true}};
    for (const std::uint64_t streams : list(o.streams, o.quick, {1, 8}, {1}))
        for (const std::uint64_t channels : list(o.channels, o.quick, {1, 64}, {8}))
            for (const double rate : list(o.rates, o.quick, {500.0, 1000.0, 10000.0}, {1000.0}))
                for (const carrier link : o.links.value_or(all_links())) {
                    work w = base_work(o);
                    w.over = link;
                    w.streams = streams;
                    w.channels = channels;
                    w.rate_hz = rate;
                    w.latency = true;
                    group_builder cells =
                        transfers(around, {number_text(streams), number_text(channels), number_text(w.rate_hz)}, false);
                    for (const mode& m : list(o.modes, o.quick, all, {mode{way::async}, mode{way::sync}}))
                        cells.add_ours(w, m);
                    p.groups.push_back(cells.take());
                }
    return p;
}

plan throughput_plan(const bench_options& o, const surroundings& around) {
    plan p{.name = "throughput",
           .label_names = {"link", "how", "channels", "chunk", "bytes", "consumers"},
           .columns = {{"pushed_per_s", "pushed/s"},
                       {"per_s", "samples/s", 1, 3, true},
                       {"mb_per_s", "MB/s"},
                       {"rate_ratio", "ratio", 1, 3, true},
                       {"delivered", "delivered"},
                       {"lost", "lost"},
                       {"sender_cpu_us", "send us"},
                       {"receiver_cpu_us", "recv us"},
                       {"sender_rss_mb", "MB s"},
                       {"receiver_rss_mb", "MB r"}},
           .comparisons = {{"rate_ratio", "per_s"}, {"cpu_ratio", "sender_net_cpu_us"}},
           .groups = {},
           .notes = {"samples/s, MB/s: as the slowest consumer gets them; us of CPU per chunk",
                     "ratio: to plain (posix), libzmq-zero-copy (zmq, async), libzmq-released (zmq, sync)"}};
    const std::vector<mode> all = {{way::async}, {way::async_wait}, {way::sync}};
    for (const std::uint64_t bytes : list(o.sizes, o.quick, all_sizes, {4, 4000}))
        for (const std::uint64_t consumers : list(o.consumers, o.quick, {1, 3}, {1}))
            for (const carrier link : o.links.value_or(all_links())) {
                work w = base_work(o);
                w.over = link;
                w.consumers = consumers;
                set_size(w, bytes);
                group_builder cells = transfers(around,
                                                {number_text(w.channels), number_text(w.chunk),
                                                 number_text(w.chunk_bytes()), number_text(consumers)},
                                                false);
                if (!is_zmq(link) && w.chunk_bytes() < 16000 && consumers > 0)
                    cells.plain(w, way::plain_batched);
                if (is_zmq(link) && consumers > 0)
                    cells.plain(w, way::zmq_copied);
                for (const mode& m : list(o.modes, o.quick, all, all))
                    cells.add_ours(w, m);
                p.groups.push_back(cells.take());
            }
    return p;
}

} // namespace rivulet::tools::bench
