#include "bench/transfer.hpp"

#include "bench/distribution.hpp"
#include "bench/pacing.hpp"
#include "bench/plain_sockets.hpp"
#include "bench/plain_zmq.hpp"
#include "bench/rivulet_ends.hpp"
#include "bench/usage.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace rivulet::tools::bench {
namespace {

constexpr double patience_s = 60;

/// What pacing alone does.
class null_sender {
public:
    const std::string& endpoints() const noexcept { return none_; }
    void wait_for_consumers() {}
    void send(std::size_t, const std::byte* values, double) { asm volatile("" : : "r"(values) : "memory"); }
    void finish() {}

private:
    std::string none_;
};

/// How often this process has slept until a push was due: system calls that are not the library's.
std::uint64_t sleeps = 0;

void report_usage(const worker_link& link, const usage& used) {
    link.report("cpu_s", used.cpu_s);
    link.report("waits", static_cast<double>(used.waits));
    link.report("preempted", static_cast<double>(used.preempted));
    if (used.allocations)
        link.report("allocations", static_cast<double>(*used.allocations));
    if (used.system_calls)
        link.report("calls", static_cast<double>(*used.system_calls));
    link.report("rss_mb", static_cast<double>(peak_memory()) * 1e-6);
}

/// Several chunks one after another, so that caches see what a real source shows them.
std::vector<std::byte> make_values(const work& w) {
    const std::size_t chunks = std::clamp<std::size_t>((1u << 20) / w.chunk_bytes(), 1, 16);
    return std::vector<std::byte>(chunks * w.chunk_bytes(), std::byte{1});
}

/// Pushes as fast as it goes, or at the rate's own times; late pushes follow at once.
template<class Sender>
std::uint64_t push_all(const work& w, double seconds, Sender& sender, const std::vector<std::byte>& values,
                       distribution& pushes) {
    const std::size_t copies = values.size() / w.chunk_bytes();
    const double period = w.rate_hz > 0 ? static_cast<double>(w.chunk) / w.rate_hz : 0;
    // Small chunks would feel the clock.
    const std::uint64_t looks_every = period > 0 ? 1 : std::clamp<std::uint64_t>(16384 / w.chunk_bytes(), 1, 256);
    const double begun = local_clock();
    double at = begun;
    double stamp = begun;
    std::uint64_t pushed = 0;
    while (pushed < w.max_chunks && at < begun + seconds) {
        if (period > 0)
            if (const double due = begun + static_cast<double>(pushed) * period; local_clock() < due) {
                ++sleeps;
                sleep_until(due);
            }
        at = local_clock();
        const std::uint64_t until = std::min(pushed + looks_every, w.max_chunks);
        for (; pushed < until; ++pushed) {
            const std::byte* const chunk = values.data() + pushed % copies * w.chunk_bytes();
            for (std::size_t s = 0; s < w.streams; ++s)
                sender.send(s, chunk, w.given_stamps ? stamp += 1e-6 : w.latency ? local_clock() : now);
        }
        if (looks_every == 1)
            pushes.add((local_clock() - at) * 1e6);
    }
    return pushed;
}

template<class Sender>
void publish(const work& w, worker_link& link, usage_meter& meter, Sender& sender) {
    link.ready(sender.endpoints());
    link.wait_for_go();
    sender.wait_for_consumers();
    distribution warm_up, pushes;
    const std::vector<std::byte> values = make_values(w); // libzmq refers to it until finish
    const std::uint64_t before_that = w.warm_up_s > 0 ? push_all(w, w.warm_up_s, sender, values, warm_up) : 0;
    const usage before = meter.read();
    const std::uint64_t sleeps_before = sleeps;
    const double begun = local_clock();
    const std::uint64_t chunks = push_all(w, w.seconds, sender, values, pushes);
    const double seconds = local_clock() - begun;
    sender.finish();
    usage used = meter.read() - before;
    if (used.system_calls)
        *used.system_calls -= sleeps - sleeps_before;
    report_usage(link, used);
    link.report("chunks", static_cast<double>(chunks));
    link.report("all_chunks", static_cast<double>(before_that + chunks));
    link.report("seconds", seconds);
    pushes.report(link, "push");
}

template<class Receiver>
void subscribe(const work& w, worker_link& link, usage_meter& meter, Receiver& receiver) {
    link.ready();
    distribution ages;
    usage before = meter.read();
    double first_at = 0, begun = 0, last_at = 0;
    std::uint64_t samples = 0, lost = 0, samples_before = 0;
    for (;;) {
        const arrival got = receiver.receive();
        samples += got.samples;
        lost += got.lost;
        if (got.samples != 0) {
            last_at = local_clock();
            if (first_at == 0)
                first_at = last_at;
            if (begun == 0 && last_at >= first_at + w.warm_up_s) { // all before that is warm-up
                before = meter.read();
                begun = last_at;
                samples_before = samples;
            } else if (w.latency && begun != 0) {
                ages.add((last_at - got.stamp) * 1e6);
            }
        }
        if (got.ended)
            break;
    }
    if (begun == 0)
        begun = first_at;
    report_usage(link, meter.read() - before);
    link.report("samples", static_cast<double>(samples));
    link.report("lost", static_cast<double>(lost));
    link.report("chunks", static_cast<double>(samples - samples_before) / static_cast<double>(w.chunk * w.streams));
    if (last_at > begun)
        link.report("per_s", static_cast<double>(samples - samples_before) / (last_at - begun));
    ages.report(link, "latency");
}

void run_publisher(const work& w, const surroundings& around, const std::string& path, worker_link& link) {
    usage_meter meter(w.counted);
    if (w.how == way::nothing) {
        null_sender sender;
        publish(w, link, meter, sender);
    } else if (is_ours(w.how)) {
        rivulet_sender sender(w, path, around.settings);
        publish(w, link, meter, sender);
    } else if (is_zmq(w.over)) {
        plain_zmq_sender sender(w, path);
        publish(w, link, meter, sender);
    } else {
        plain_sender sender(w, path);
        publish(w, link, meter, sender);
    }
}

void run_subscriber(const work& w, const surroundings& around, const std::string& endpoints, worker_link& link) {
    usage_meter meter(w.counted);
    if (is_ours(w.how)) {
        rivulet_receiver receiver(w, endpoints, around.settings);
        subscribe(w, link, meter, receiver);
    } else if (is_zmq(w.over)) {
        plain_zmq_receiver receiver(w, endpoints);
        subscribe(w, link, meter, receiver);
    } else {
        plain_receiver receiver(w, endpoints);
        subscribe(w, link, meter, receiver);
    }
}

/// What both sides found, brought to one chunk.
findings summed_up(const work& w, findings sent, const std::vector<findings>& received) {
    findings f;
    const double samples = sent["all_chunks"] * static_cast<double>(w.chunk);
    f["chunks"] = sent["chunks"];
    f["samples"] = samples;
    f["push_seconds"] = sent["seconds"];
    f["pushed_per_s"] = sent["chunks"] * static_cast<double>(w.chunk * w.streams) / sent["seconds"];
    const auto take = [&](findings& from, const char* side, double share) {
        const double chunks = from["chunks"];
        const std::pair<const char*, const char*> names[] = {{"cpu_s", "cpu_us"},
                                                             {"waits", "waits"},
                                                             {"preempted", "preempted"},
                                                             {"allocations", "allocations"},
                                                             {"calls", "calls"}};
        const double mb = static_cast<double>(w.chunk_bytes() * w.streams) * 1e-6;
        for (const auto& [name, name_here] : names)
            if (chunks > 0 && from.contains(name)) {
                const double each = from[name] * (std::string_view(name) == "cpu_s" ? 1e6 : 1) * share / chunks;
                f[fmt::format("{}{}", side, name_here)] += each;
                f[fmt::format("{}{}_per_mb", side, name_here)] += each / mb;
            }
        double& rss = f[fmt::format("{}rss_mb", side)];
        rss = std::max(rss, from["rss_mb"]);
    };
    take(sent, "sender_", 1);
    for (const auto& [name, value] : sent)
        if (name.starts_with("push_"))
            f[name] = value;
    double delivered = 0, lost = 0, slowest = std::numeric_limits<double>::infinity();
    for (findings r : received) {
        take(r, "receiver_", 1.0 / static_cast<double>(received.size()));
        delivered += r["samples"];
        lost += r["lost"];
        slowest = std::min(slowest, r["per_s"]);
        for (const auto& [name, value] : r)
            if (name.starts_with("latency_")) {
                double& worst = f.try_emplace(name, value).first->second;
                worst = name == "latency_min_us" ? std::min(worst, value) : std::max(worst, value);
            }
    }
    if (!received.empty()) {
        f["delivered"] = delivered / static_cast<double>(received.size() * w.streams);
        f["lost"] = samples * static_cast<double>(received.size() * w.streams) - delivered;
        f["lost_seen"] = lost;
        f["per_s"] = slowest;
        f["mb_per_s"] = slowest * static_cast<double>(w.sample_bytes()) * 1e-6;
    }
    return f;
}

} // namespace

findings transfer(const work& w, const surroundings& around) {
    static int number = 0;
    const std::string path = fmt::format("{}/{}.", around.folder, ++number);
    worker publisher(fmt::format("publisher of {} over {}", to_string(w.how), to_string(w.over)),
                     [&](worker_link& link) { run_publisher(w, around, path, link); });
    const std::string endpoints = publisher.wait_ready(around.stop, patience_s);
    std::vector<worker> subscribers;
    if (w.how != way::nothing)
        for (std::uint64_t i = 0; i < w.consumers; ++i)
            subscribers.emplace_back(fmt::format("subscriber of {} over {}", to_string(w.how), to_string(w.over)),
                                     [&](worker_link& link) { run_subscriber(w, around, endpoints, link); });
    // Ours are ready when their outlet knows them; who accepts them only after go does not wait for them.
    for (worker& s : subscribers)
        s.wait_ready(around.stop, patience_s);
    publisher.go();
    findings sent = publisher.collect(around.stop, patience_s + w.seconds);
    std::vector<findings> received;
    for (worker& s : subscribers)
        received.push_back(s.collect(around.stop, patience_s));
    return summed_up(w, std::move(sent), received);
}

} // namespace rivulet::tools::bench
