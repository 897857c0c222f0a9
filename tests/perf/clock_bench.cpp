// How far corrected stamps are from the truth, over simulated links whose clocks differ by a known offset that drifts
// by 40 ppm and wanders by 1 ppm, and what it costs. A burst of 8 probes each 5 s for 10 minutes; errors in
// microseconds, over all times from the second minute on. `offset`: by the estimator; `fastest`: by the last burst's
// probe with the lowest round trip, as it is usually done; `sync`: of stamps that clocksync corrected. Time is that of
// one burst.
#include "clock/clocksync.hpp"
#include "clock/dejitter.hpp"
#include "simulated_link.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace rivulet::clock;
using rivulet::test::simulated_link;

struct errors {
    std::vector<double> all;
    void add(double error) { all.push_back(std::abs(error) * 1e6); }
    void report(benchmark::State& state, const std::string& name) {
        std::sort(all.begin(), all.end());
        state.counters[name + "_p50"] = all[all.size() / 2];
        state.counters[name + "_max"] = all.back();
    }
};

/// Times in microseconds.
struct network {
    double delay, jitter_there, jitter_back;
};

void correction(benchmark::State& state, network net) {
    errors by_estimator, by_fastest, by_sync;
    double uncertainty = 0;
    std::size_t bursts = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        simulated_link link{.offset = [](double t) { return 2e4 + 40e-6 * t + 1e-6 * 40 * std::sin(t / 40); },
                            .delay_there = net.delay * 1e-6,
                            .delay_back = net.delay * 1e-6,
                            .jitter_there = net.jitter_there * 1e-6,
                            .jitter_back = net.jitter_back * 1e-6,
                            .random = std::mt19937_64(seed)};
        offset_estimator estimator;
        clocksync sync;
        for (double t = 0; t < 600; t += 5) {
            const std::vector<probe> burst = link.burst(t);
            estimator.add(burst);
            sync.update(*estimator.estimate(t + 0.1));
            for (double at = t + 0.1; at < t + 5; at += 0.1) {
                double stamp = at - link.offset(at);
                sync.apply({&stamp, 1});
                if (t < 60)
                    continue;
                const offset_estimate then = *estimator.estimate(at);
                by_estimator.add(then.offset_s - link.offset(at));
                by_fastest.add(rivulet::test::offset_of_fastest(burst) - link.offset(at));
                by_sync.add(stamp - at);
                uncertainty = std::max(uncertainty, then.uncertainty_s * 1e6);
                if (std::abs(then.offset_s - link.offset(at)) > then.uncertainty_s)
                    state.SkipWithError("the truth was outside of the uncertainty");
            }
            ++bursts;
        }
    }
    by_fastest.report(state, "fastest");
    by_estimator.report(state, "offset");
    by_sync.report(state, "sync");
    state.counters["uncertainty_max"] = uncertainty;

    simulated_link link;
    offset_estimator estimator;
    double t = 0;
    for (auto _ : state) {
        state.PauseTiming();
        const std::vector<probe> burst = link.burst(t += 5);
        state.ResumeTiming();
        estimator.add(burst);
        benchmark::DoNotOptimize(estimator.estimate(t));
    }
}
BENCHMARK_CAPTURE(correction, same_host, network{15, 5, 5});
BENCHMARK_CAPTURE(correction, lan, network{50, 50, 20});
BENCHMARK_CAPTURE(correction, wireless, network{1000, 4000, 1000});
BENCHMARK_CAPTURE(correction, wide_area, network{10000, 5000, 500});

/// A device 100 ppm off its nominal 1 kHz, whose chunks of 30 samples are stamped up to 10 ms late. Errors from what is
/// the mean delay, in microseconds, from the tenth second on. Time is that of one sample.
void dejittering(benchmark::State& state) {
    constexpr double period = 1e-3 * (1 + 100e-6), mean_delay = 5e-3;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> late(0, 2 * mean_delay);
    dejitter filter(1000);
    errors raw, smooth;
    for (std::uint64_t chunk = 0; chunk < 10'000; ++chunk) {
        const double delay = late(random);
        std::vector<double> truth, stamps;
        for (std::uint64_t i = 0; i < 30; ++i) {
            truth.push_back(static_cast<double>(chunk * 30 + i) * period);
            stamps.push_back(static_cast<double>(chunk * 30 + 29) * period + delay -
                             static_cast<double>(29 - i) * 1e-3);
        }
        const std::vector<double> before = stamps;
        filter.apply(chunk * 30, stamps);
        for (std::size_t i = 0; chunk * 30 >= 10'000 && i < 30; ++i) {
            raw.add(before[i] - truth[i] - mean_delay);
            smooth.add(stamps[i] - truth[i] - mean_delay);
        }
    }
    raw.report(state, "raw");
    smooth.report(state, "dejitter");

    std::vector<double> stamps(1000);
    std::uint64_t sequence = 0;
    dejitter timed(1000);
    for (auto _ : state) {
        for (std::size_t i = 0; i < stamps.size(); ++i)
            stamps[i] = static_cast<double>(sequence + i) * 1e-3;
        timed.apply(sequence, stamps);
        sequence += stamps.size();
        benchmark::DoNotOptimize(stamps.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(stamps.size()));
}
BENCHMARK(dejittering);

} // namespace
