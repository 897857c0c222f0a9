#include "clock/offset_estimator.hpp"
#include "simulated_link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using namespace rivulet::clock;
using rivulet::test::simulated_link;

double error_at(const offset_estimator& estimator, const simulated_link& link, double when) {
    return std::abs(estimator.estimate(when)->offset_s - link.offset(when));
}

TEST(OffsetEstimator, KnowsNothingBeforeTheFirstBurst) { EXPECT_FALSE(offset_estimator().estimate(0)); }

TEST(OffsetEstimator, IsExactOnAnEvenLink) {
    for (const double offset : {0.0, 1e-4, -3.5, 4e6, -4e6}) {
        simulated_link link{.offset = [offset](double) { return offset; }};
        offset_estimator estimator;
        ASSERT_TRUE(estimator.add(link.burst(100)));
        const offset_estimate now = *estimator.estimate(100);
        EXPECT_NEAR(now.offset_s, offset, 1e-8);
        EXPECT_NEAR(now.rtt_s, 100e-6, 1e-8);
    }
}

TEST(OffsetEstimator, IsNeverLessCertainThanHalfTheBestRoundTrip) {
    simulated_link link{.jitter_there = 1e-3, .jitter_back = 1e-4};
    for (int i = 0; i < 100; ++i) {
        offset_estimator estimator;
        const auto burst = link.burst(100);
        estimator.add(burst);
        const offset_estimate now = *estimator.estimate(100);
        double best = 1;
        for (const probe& p : burst)
            best = std::min(best, p.rtt());
        EXPECT_EQ(now.rtt_s, best);
        // Probes lie at most 16 ms apart, in which the clocks may drift by 8 us; stamps are taken as exact to 1 us.
        EXPECT_LE(now.uncertainty_s, best / 2 + 9.1e-6);
    }
}

TEST(OffsetEstimator, UncertaintyGrowsWithWhatClocksMayDrift) {
    simulated_link link;
    offset_estimator estimator({.max_drift = 1e-4});
    estimator.add(link.burst(100, 1));
    const double at_once = estimator.estimate(100)->uncertainty_s;
    EXPECT_NEAR(estimator.estimate(110)->uncertainty_s - at_once, 10 * 1e-4, 1e-7);
}

TEST(OffsetEstimator, TruthLiesWithinTheUncertaintyAtAnyTime) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937_64 random(seed);
        const auto between = [&random](double low, double high) {
            return std::uniform_real_distribution<double>(low, high)(random);
        };
        const double offset = between(-1e5, 1e5), drift = between(-1e-4, 1e-4), phase = between(0, 6);
        // The rate wanders by 1 ppm, as with temperature.
        simulated_link link{
            .offset = [=](double t) { return offset + drift * t + 1e-6 * 30 * std::sin(t / 30 + phase); },
            .delay_there = between(10e-6, 2e-3),
            .delay_back = between(10e-6, 2e-3),
            .jitter_there = between(0, 2e-3),
            .jitter_back = between(0, 2e-3),
            .random = std::mt19937_64(seed)};
        offset_estimator estimator;
        for (double t = 1000; t < 1600; t += between(0.5, 10)) {
            estimator.add(link.burst(t));
            for (const double later : {0.02, 1.0, 10.0}) {
                const offset_estimate then = *estimator.estimate(t + later);
                ASSERT_LE(std::abs(then.offset_s - link.offset(t + later)), then.uncertainty_s)
                    << "seed " << seed << ", " << later << " s after the burst at " << t;
            }
        }
        EXPECT_EQ(estimator.resets(), 0u) << "seed " << seed;
    }
}

TEST(OffsetEstimator, RatesThatWanderStayWithinTheUncertainty) {
    // Hardly any delay hides it: the rate swings by 2 ppm while the bursts are collected.
    simulated_link link{
        .offset = [](double t) { return 1e-6 * 50 * std::sin(t / 50); }, .delay_there = 1e-7, .delay_back = 1e-7};
    offset_estimator estimator;
    for (double t = 0; t < 600; t += 5) {
        estimator.add(link.burst(t));
        const offset_estimate then = *estimator.estimate(t + 10);
        ASSERT_LE(std::abs(then.offset_s - link.offset(t + 10)), then.uncertainty_s) << t;
        ASSERT_LT(then.uncertainty_s, t < 60 ? 6e-3 : 1e-4) << t;
    }
    EXPECT_EQ(estimator.resets(), 0u);
}

TEST(OffsetEstimator, JitterInOneDirectionDoesNotPullItThere) {
    std::vector<double> errors, fastest;
    for (unsigned seed = 0; seed < 200; ++seed) {
        simulated_link link{.jitter_there = 2e-3, .jitter_back = 1e-4, .random = std::mt19937_64(seed)};
        offset_estimator estimator;
        for (int i = 0; i < 20; ++i) {
            const auto burst = link.burst(100 + i);
            estimator.add(burst);
            fastest.push_back(std::abs(rivulet::test::offset_of_fastest(burst)));
        }
        errors.push_back(error_at(estimator, link, 119.02));
    }
    std::sort(errors.begin(), errors.end());
    std::sort(fastest.begin(), fastest.end());
    EXPECT_LT(errors[errors.size() / 2], fastest[fastest.size() / 2] / 2);
    EXPECT_LT(errors.back(), fastest.back() / 2);
}

TEST(OffsetEstimator, LearnsTheDriftAndGoesOnAlongIt) {
    simulated_link link{.offset = [](double t) { return 7 + 50e-6 * t; }, .jitter_there = 2e-4, .jitter_back = 1e-4};
    offset_estimator estimator;
    for (double t = 0; t < 120; t += 2)
        estimator.add(link.burst(t));
    EXPECT_NEAR(estimator.estimate(120)->drift, 50e-6, 1e-6);
    EXPECT_LT(error_at(estimator, link, 180), 100e-6);
    // The drift that is known does not make it uncertain: 1 min at the most drift allowed would be 30 ms.
    EXPECT_LT(estimator.estimate(180)->uncertainty_s, 1e-3);
}

TEST(OffsetEstimator, NoticesAClockThatWasReset) {
    for (const double jump : {-3600.0, -0.1, 0.1, 3600.0}) {
        simulated_link link{.offset = [jump](double t) { return 5 + 20e-6 * t + (t > 60 ? jump : 0); },
                            .jitter_there = 5e-4,
                            .jitter_back = 1e-4};
        offset_estimator estimator;
        for (double t = 0; t < 60; t += 2)
            estimator.add(link.burst(t));
        EXPECT_EQ(estimator.estimate(60)->resets, 0u);
        estimator.add(link.burst(62));
        EXPECT_EQ(estimator.estimate(62)->resets, 1u);
        EXPECT_LT(error_at(estimator, link, 62.02), 2e-3);
        for (double t = 64; t < 120; t += 2)
            estimator.add(link.burst(t));
        EXPECT_EQ(estimator.resets(), 1u);
        EXPECT_LT(error_at(estimator, link, 120), 1e-4);
        EXPECT_NEAR(estimator.estimate(120)->drift, 20e-6, 5e-6);
    }
}

TEST(OffsetEstimator, AClockThatIsSteeredIsNotReset) {
    simulated_link link{.offset = [](double t) { return 5 + 450e-6 * std::max(t - 60, 0.0); }};
    offset_estimator estimator;
    for (double t = 0; t < 120; t += 2) {
        estimator.add(link.burst(t));
        const offset_estimate now = *estimator.estimate(t + 0.02);
        EXPECT_LE(std::abs(now.offset_s - link.offset(t + 0.02)), now.uncertainty_s) << t;
    }
    EXPECT_EQ(estimator.resets(), 0u);
    EXPECT_NEAR(estimator.estimate(120)->drift, 450e-6, 20e-6);
}

TEST(OffsetEstimator, AResetWithinABurstIsOneReset) {
    simulated_link link{.offset = [](double t) { return t > 20.005 ? 900.0 : 0.0; }};
    offset_estimator estimator;
    estimator.add(link.burst(10));
    estimator.add(link.burst(20));
    estimator.add(link.burst(30));
    EXPECT_EQ(estimator.resets(), 1u);
    EXPECT_NEAR(estimator.estimate(30)->offset_s, 900, 1e-6);
}

TEST(OffsetEstimator, LeavesOutWhatCannotBe) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const std::vector<probe> nonsense = {{nan, 1, 1, 2}, {1, nan, 2, 2}, {1, 1, inf, 2}, {1, 1, 1, inf},
                                         {2, 1, 1, 1},   {1, 2, 1, 2},   {1, 5, 7, 2}};
    offset_estimator estimator;
    EXPECT_FALSE(estimator.add(nonsense));
    EXPECT_FALSE(estimator.add({}));
    EXPECT_FALSE(estimator.estimate(0));
    EXPECT_EQ(estimator.rejected(), nonsense.size());

    simulated_link link{.offset = [](double) { return 3.0; }};
    auto burst = link.burst(10);
    burst.insert(burst.begin() + 2, nonsense.begin(), nonsense.end());
    EXPECT_TRUE(estimator.add(burst));
    EXPECT_NEAR(estimator.estimate(10)->offset_s, 3, 1e-8);
    const double before = estimator.estimate(20)->uncertainty_s;
    EXPECT_FALSE(estimator.add(nonsense));
    EXPECT_EQ(estimator.estimate(20)->uncertainty_s, before);
}

TEST(OffsetEstimator, ClocksOfNoResolutionAreFine) {
    offset_estimator estimator({.clock_resolution = 0});
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(estimator.add(std::vector<probe>{{1.0 + i, 1.0 + i, 1.0 + i, 1.0 + i}}));
    EXPECT_EQ(estimator.estimate(6)->offset_s, 0);
}

TEST(OffsetEstimator, RecordsEachBurstOnce) {
    simulated_link link{.offset = [](double t) { return t > 15 ? 100.0 : 1.0; }};
    offset_estimator estimator;
    estimator.add(link.burst(10));
    estimator.add(link.burst(20));
    const auto first = estimator.records(0);
    ASSERT_EQ(first.size(), 2u);
    EXPECT_NEAR(first[0].local_s, 10, 0.02);
    EXPECT_NEAR(first[0].offset_s, 1, 1e-6);
    EXPECT_NEAR(first[0].rtt_s, 100e-6, 1e-8);
    EXPECT_GT(first[0].uncertainty_s, 0);
    EXPECT_FALSE(first[0].reset);
    EXPECT_TRUE(first[1].reset);
    EXPECT_TRUE(estimator.records(2).empty());
    estimator.add(link.burst(30));
    EXPECT_EQ(estimator.records(2).at(0).number, 2u);
    EXPECT_EQ(estimator.records(1).size(), 2u);
}

TEST(OffsetEstimator, ForgetsTheOldestRecordsVisibly) {
    simulated_link link;
    offset_estimator estimator({.records = 10});
    for (int i = 0; i < 25; ++i)
        estimator.add(link.burst(i));
    const auto records = estimator.records(3);
    ASSERT_EQ(records.size(), 10u);
    EXPECT_EQ(records.front().number, 15u);
}

TEST(OffsetEstimator, AnotherClockAfterARestartIsNoReset) {
    simulated_link first, second{.offset = [](double) { return 1e5; }};
    offset_estimator estimator;
    estimator.add(first.burst(10));
    estimator.restart();
    EXPECT_FALSE(estimator.estimate(10));
    estimator.add(second.burst(20));
    EXPECT_NEAR(estimator.estimate(20)->offset_s, 1e5, 1e-6);
    EXPECT_EQ(estimator.resets(), 0u);
}

} // namespace
