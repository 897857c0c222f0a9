#include "bench/group_builder.hpp"
#include "bench/plans.hpp"

#include "common/numbers.hpp"

#include <algorithm>
#include <cmath>

/// The most channels that a link sustains at a rate: found by trying.
namespace rivulet::tools::bench {
namespace {

constexpr std::uint64_t first_try = 250;
constexpr double close_enough = 1.05; ///< the least that failed to the most that went well

/// All pushes in time, and everything arrived.
bool sustained(const work& w, const findings& found) {
    const auto value = [&](const char* name) {
        const auto at = found.find(name);
        return at == found.end() ? 0 : at->second;
    };
    const double due = w.seconds * w.rate_hz / static_cast<double>(w.chunk);
    return value("chunks") >= 0.98 * due - 2 && value("lost") == 0 && value("lost_seen") == 0;
}

findings most_channels_of(work w, std::uint64_t limit, const surroundings& around) {
    findings best;
    const auto goes = [&](std::uint64_t channels) {
        w.channels = channels;
        findings found = transfer(w, around);
        if (!sustained(w, found))
            return false;
        best = std::move(found);
        best["channels"] = static_cast<double>(channels);
        return true;
    };
    std::uint64_t good = 0, bad = first_try;
    while (bad <= limit && goes(bad)) {
        good = bad;
        bad *= 2;
    }
    while (static_cast<double>(bad) > static_cast<double>(good) * close_enough && bad - good > 8) {
        const auto middle =
            good == 0 ? bad / 2
                      : static_cast<std::uint64_t>(std::sqrt(static_cast<double>(good) * static_cast<double>(bad)));
        (goes(middle) ? good : bad) = middle;
    }
    const double per_s = w.rate_hz / static_cast<double>(w.chunk);
    for (const char* side : {"sender", "receiver"})
        best[std::string(side) + "_cpu_percent"] = best[std::string(side) + "_cpu_us"] * per_s * 1e-4;
    return best;
}

} // namespace

plan capacity_plan(const bench_options& o, const surroundings& around) {
    plan p{
        .name = "capacity",
        .label_names = {"link", "how", "format", "hz", "chunk", "consumers"},
        .columns = {{"channels", "channels", 1, 3, true},
                    {"channels_ratio", "ratio", 1, 3, true},
                    {"mb_per_s", "MB/s"},
                    {"sender_cpu_percent", "CPU % s"},
                    {"receiver_cpu_percent", "CPU % r"},
                    {"push_p50_us", "push p50"},
                    {"push_p99_us", "p99"},
                    {"sender_rss_mb", "MB s"},
                    {"receiver_rss_mb", "MB r"}},
        .comparisons = {{"channels_ratio", "channels"}},
        .groups = {},
        .notes = {"the most channels whose pushes were all in time, and of which every sample arrived; to 5 % "
                  "(--quick: 1000 at most)",
                  "CPU %: of one core, all threads of a side (s sender, r receiver): a side at 100 % a thread is what "
                  "limits",
                  "ratio: to plain (posix), libzmq-zero-copy (zmq, async), libzmq-released (zmq, sync)"}};
    const std::vector<mode> modes = {{way::sync}, {way::async}};
    const std::vector<double> rates = {o.quick ? 1000.0 : 30000.0};
    const std::uint64_t limit = o.quick ? 1000 : 1u << 17;
    const std::vector<bool> formats = o.quick ? std::vector{true} : std::vector{true, false};
    const std::vector<std::uint64_t> chunks = {30}, consumers = {1};
    const auto rows_of = [&](bool int16, double rate) {
        for (const std::uint64_t chunk : o.chunks.value_or(chunks))
            for (const std::uint64_t n : o.consumers.value_or(consumers))
                for (const carrier link : o.links.value_or(all_links())) {
                    work w;
                    w.over = link;
                    w.int16 = int16;
                    w.rate_hz = rate;
                    w.chunk = chunk;
                    w.consumers = n;
                    w.seconds = o.seconds;
                    w.warm_up_s = 0.3 * o.seconds;
                    w.buffer_bytes = o.buffer_bytes;
                    w.copy_out = true;
                    group_builder cells(
                        [limit, &around](const work& one) { return most_channels_of(one, limit, around); }, {},
                        {int16 ? "int16" : "float32", number_text(rate), number_text(chunk), number_text(n)});
                    for (const mode& m : o.modes.value_or(modes))
                        cells.add_ours(w, m);
                    p.groups.push_back(cells.take());
                }
    };
    for (const bool int16 : formats)
        for (const double rate : o.rates.value_or(rates))
            rows_of(int16, rate);
    return p;
}

} // namespace rivulet::tools::bench
