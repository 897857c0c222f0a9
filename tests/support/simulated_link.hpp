#pragma once

#include "clock/offset_estimator.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace rivulet::test {

/// Two hosts whose clocks differ by a known offset, and a network between them with its own delay in each direction:
/// a constant one, and jitter with an exponential distribution. All times are seconds.
struct simulated_link {
    std::function<double(double)> offset = [](double) { return 0.0; }; ///< truth, at a time on our clock
    double delay_there = 50e-6, delay_back = 50e-6;
    double jitter_there = 0, jitter_back = 0; ///< means
    std::mt19937_64 random{1};

    /// One exchange that begins at `t1` on our clock.
    clock::probe exchange(double t1) {
        const double received = t1 + delay_there + jitter(jitter_there);
        const double replied = received + 5e-6;
        return {t1, received - offset(received), replied - offset(replied), replied + delay_back + jitter(jitter_back)};
    }

    std::vector<clock::probe> burst(double t1, int probes = 8, double interval = 2e-3) {
        std::vector<clock::probe> all;
        for (int i = 0; i < probes; ++i)
            all.push_back(exchange(t1 + i * interval));
        return all;
    }

private:
    double jitter(double mean) { return mean == 0 ? 0 : std::exponential_distribution<double>(1 / mean)(random); }
};

/// A burst's offset as its probe with the lowest round trip gives it.
inline double offset_of_fastest(const std::vector<clock::probe>& burst) {
    const auto best =
        std::min_element(burst.begin(), burst.end(), [](const auto& a, const auto& b) { return a.rtt() < b.rtt(); });
    return ((best->t1 - best->t2) + (best->t4 - best->t3)) / 2;
}

} // namespace rivulet::test
