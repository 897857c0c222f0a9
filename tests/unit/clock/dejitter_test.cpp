#include "clock/dejitter.hpp"
#include "clock/monotonize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace rivulet::clock;

/// The line through all stamps with exponential weights, at the last one: solved from scratch.
double weighted_line(const std::vector<double>& stamps, double rate, double half_life, double trust) {
    const auto n = stamps.size();
    long double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<long double>(i) - static_cast<long double>(n - 1);
        const long double y = stamps[i] - stamps[0] - static_cast<long double>(i) / rate;
        const long double weight = std::exp2(x / rate / half_life);
        w += weight, wx += weight * x, wy += weight * y, wxx += weight * x * x, wxy += weight * x * y;
    }
    const long double prior = std::pow(static_cast<long double>(trust) * rate, 3.0L) / 12 *
                              std::exp2(-static_cast<long double>(n) / rate / half_life);
    const long double slope = (wxy - wx * wy / w) / (wxx - wx * wx / w + prior);
    return static_cast<double>(stamps[0] + static_cast<long double>(n - 1) / rate + (wy - slope * wx) / w);
}

std::vector<double> jittered(std::size_t count, double period, double jitter, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, jitter);
    std::vector<double> stamps;
    for (std::size_t i = 0; i < count; ++i)
        stamps.push_back(5000 + static_cast<double>(i) * period + noise(random));
    return stamps;
}

double worst(const std::vector<double>& stamps, double period, std::size_t from) {
    double most = 0;
    for (std::size_t i = from; i < stamps.size(); ++i)
        most = std::max(most, std::abs(stamps[i] - 5000 - static_cast<double>(i) * period));
    return most;
}

TEST(Dejitter, IsTheWeightedLineThroughAllSoFar) {
    for (const double half_life : {0.3, 2.0, 90.0}) {
        const std::vector<double> raw = jittered(600, 1.0 / 103, 2e-3);
        std::vector<double> smooth = raw;
        dejitter filter(100, {.half_life_s = half_life, .trust_s = 0.5});
        filter.apply(0, smooth);
        for (std::size_t n = 1; n <= raw.size(); n = n < 20 ? n + 1 : n * 3 / 2) {
            const std::vector<double> so_far(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(n));
            ASSERT_NEAR(smooth[n - 1], weighted_line(so_far, 100, half_life, 0.5), 1e-10) << half_life << " " << n;
        }
    }
}

TEST(Dejitter, IsTheSameHoweverSamplesAreChunked) {
    const std::vector<double> raw = jittered(5000, 1e-3, 1e-3);
    std::vector<double> at_once = raw, one_by_one = raw;
    dejitter(1000).apply(7, at_once);
    dejitter filter(1000);
    for (std::size_t i = 0; i < raw.size(); ++i)
        filter.apply(7 + i, {&one_by_one[i], 1});
    EXPECT_EQ(at_once, one_by_one);
}

TEST(Dejitter, FindsTheTrueTimesOfADeviceThatIsOffItsNominalRate) {
    const double period = 1e-3 * (1 + 200e-6);
    std::vector<double> stamps = jittered(60'000, period, 2e-3);
    const double raw = worst(stamps, period, 0);
    dejitter(1000).apply(0, stamps);
    EXPECT_LE(worst(stamps, period, 0), raw);
    EXPECT_LT(worst(stamps, period, 10'000), 150e-6);
    EXPECT_LT(worst(stamps, period, 50'000), 60e-6);
}

TEST(Dejitter, SmoothsChunksThatComeLate) {
    // Deduced stamps: even within a chunk, which itself is late by 0 to 10 ms.
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> late(0, 10e-3);
    std::vector<double> stamps;
    for (int chunk = 0; chunk < 2000; ++chunk) {
        const double delay = late(random);
        for (int i = 0; i < 30; ++i)
            stamps.push_back(5000 + (chunk * 30 + i) * 1e-3 + delay);
    }
    dejitter(1000).apply(0, stamps);
    for (std::size_t i = 10'000; i < stamps.size(); ++i)
        ASSERT_NEAR(stamps[i] - 5000 - static_cast<double>(i) * 1e-3, 5e-3, 1.2e-3) << "the mean delay stays in";
    for (std::size_t i = 10'001; i < stamps.size(); ++i)
        ASSERT_NEAR(stamps[i] - stamps[i - 1], 1e-3, 20e-6);
}

TEST(Dejitter, RunsForHoursWithoutLosingDigits) {
    const double period = 1.0 / 30'000 * (1 + 20e-6);
    dejitter filter(30'000);
    std::vector<double> chunk(3000);
    double last = 0;
    constexpr int chunks = 6000;
    for (int c = 0; c < chunks; ++c) {
        for (std::size_t i = 0; i < chunk.size(); ++i)
            chunk[i] = 1e6 + static_cast<double>(c * 3000 + static_cast<int>(i)) * period;
        filter.apply(static_cast<std::uint64_t>(c) * 3000, chunk);
        last = chunk.back();
    }
    EXPECT_NEAR(last, 1e6 + (chunks * 3000 - 1) * period, 2e-9);
}

TEST(Dejitter, BeginsAnew) {
    std::vector<double> first = jittered(1000, 1e-3, 1e-3);
    const auto restarted = [&first](std::uint64_t sequence, double stamp, bool restart) {
        dejitter filter(1000);
        std::vector<double> before = first;
        filter.apply(0, before);
        if (restart)
            filter.restart();
        filter.apply(sequence, {&stamp, 1});
        return stamp;
    };
    const double expected = 5001.0, late = expected + 0.1;
    EXPECT_NE(restarted(1000, late, false), late);
    EXPECT_NEAR(restarted(1000, late, false), expected, 1e-3) << "smoothed";
    EXPECT_EQ(restarted(1000, late, true), late) << "after restart, for a flush, a reset or a new segment";
    EXPECT_EQ(restarted(1001, late, false), late) << "after a gap in the samples";
    EXPECT_EQ(restarted(1000, expected + 1.1, false), expected + 1.1) << "after a gap in time";
    EXPECT_EQ(restarted(1000, expected - 1.1, false), expected - 1.1) << "after a step back";
    EXPECT_NE(restarted(1000, expected + 0.9, false), expected + 0.9) << "late, no gap";
}

TEST(Dejitter, AGapInTimeIsAtLeastSomeSamplesAtSlowRates) {
    std::vector<double> stamps{0, 10, 25, 1000, 1010};
    dejitter(0.1).apply(0, stamps);
    EXPECT_NE(stamps[2], 25) << "5 s late is nothing at 0.1 Hz";
    EXPECT_NE(stamps[3], 1000) << "970 s are fewer than 500 samples";
    std::vector<double> gap{0, 10, 20, 6000, 6010};
    dejitter(0.1).apply(0, gap);
    EXPECT_EQ(gap[3], 6000);
}

TEST(Dejitter, LeavesIrregularStreamsAlone) {
    const std::vector<double> raw = jittered(100, 0.01, 1);
    std::vector<double> stamps = raw;
    dejitter(0).apply(0, stamps);
    EXPECT_EQ(stamps, raw);
}

TEST(Dejitter, PassesOnWhatIsNoTime) {
    std::vector<double> stamps{1, 1.01, std::numeric_limits<double>::quiet_NaN(), 1.03, 1.04};
    dejitter(100).apply(0, stamps);
    EXPECT_TRUE(std::isnan(stamps[2]));
    EXPECT_NEAR(stamps[4], 1.04, 1e-12);
}

TEST(Monotonize, NeverGoesBack) {
    monotonize filter;
    std::vector<double> stamps{-5, 1, 3, 2, std::numeric_limits<double>::quiet_NaN(), 4};
    filter.apply(stamps);
    EXPECT_EQ(stamps, (std::vector<double>{-5, 1, 3, 3, 3, 4}));
    std::vector<double> more{3.5, 5};
    filter.apply(more);
    EXPECT_EQ(more, (std::vector<double>{4, 5}));
    filter.restart();
    std::vector<double> other{1};
    filter.apply(other);
    EXPECT_EQ(other.front(), 1);
}

} // namespace
