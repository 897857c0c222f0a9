#include "clock/clocksync.hpp"
#include "simulated_link.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

using namespace rivulet::clock;
using rivulet::test::simulated_link;

double corrected(clocksync& sync, double stamp) {
    sync.apply({&stamp, 1});
    return stamp;
}

TEST(Clocksync, LeavesStampsAloneBeforeItKnows) {
    clocksync sync;
    EXPECT_FALSE(sync.ready());
    EXPECT_EQ(corrected(sync, 12.5), 12.5);
    EXPECT_FALSE(sync.update({.offset_s = 3, .local_s = 15.5})) << "the first estimate is no reset";
    EXPECT_TRUE(sync.ready());
    EXPECT_EQ(corrected(sync, 12.5), 15.5) << "and is in force at once";
}

TEST(Clocksync, AddsTheOffsetOfTheStampsOwnTime) {
    clocksync sync;
    sync.update({.offset_s = 3, .drift = 1e-4, .local_s = 103}); // 100 on the other clock
    EXPECT_NEAR(corrected(sync, 100), 103, 1e-12);
    EXPECT_NEAR(corrected(sync, 110), 113 + 1e-3, 1e-9);
    EXPECT_NEAR(corrected(sync, 90), 93 - 1e-3, 1e-9) << "history, from before the estimate";
}

TEST(Clocksync, GoesOverToANewEstimateWithoutAStep) {
    clocksync sync(5);
    sync.update({.offset_s = 1});
    EXPECT_EQ(corrected(sync, 100), 101);
    EXPECT_FALSE(sync.update({.offset_s = 1.01}));
    EXPECT_NEAR(corrected(sync, 100), 101, 1e-12);
    EXPECT_NEAR(corrected(sync, 102.5), 103.505, 1e-12);
    EXPECT_FALSE(sync.update({.offset_s = 0.99})) << "also while the one before is not fully in force";
    EXPECT_NEAR(corrected(sync, 102.5), 103.505, 1e-12);
    EXPECT_NEAR(corrected(sync, 107.5), 108.49, 1e-12);
    EXPECT_NEAR(corrected(sync, 1000), 1000.99, 1e-12);
}

TEST(Clocksync, StampsThatRiseGoOnRising) {
    clocksync sync(0.5);
    double before = -1e9, stamp = 0;
    for (int i = 0; i < 20'000; ++i, stamp += 1e-3) {
        if (i % 500 == 0)
            sync.update({.offset_s = (i / 500) % 2 == 0 ? 10.0 : 3.0});
        const double now = corrected(sync, stamp);
        ASSERT_GT(now, before) << stamp;
        before = now;
    }
}

TEST(Clocksync, AResetIsAStepAndSaysSo) {
    clocksync sync;
    sync.update({.offset_s = 1});
    EXPECT_EQ(corrected(sync, 100), 101);
    EXPECT_TRUE(sync.update({.offset_s = 500, .resets = 1}));
    EXPECT_EQ(corrected(sync, 100.5), 600.5);
    EXPECT_FALSE(sync.update({.offset_s = 500, .resets = 1}));
}

TEST(Clocksync, AnotherOutletHasNothingToDoWithTheOneBefore) {
    clocksync sync;
    sync.update({.offset_s = 1, .resets = 4});
    EXPECT_EQ(corrected(sync, 100), 101);
    sync.restart();
    EXPECT_EQ(corrected(sync, 7), 7);
    EXPECT_FALSE(sync.update({.offset_s = -2}));
    EXPECT_EQ(corrected(sync, 7), 5);
}

TEST(Clocksync, StampsOfADriftingClockStayTrueOverAnUnevenLink) {
    simulated_link link{.offset = [](double t) { return 1e4 + 80e-6 * t + 1e-6 * 40 * std::sin(t / 40); },
                        .jitter_there = 2e-3,
                        .jitter_back = 2e-4};
    offset_estimator estimator;
    clocksync sync;
    double worst = 0;
    for (double t = 0; t < 600; t += 5) {
        estimator.add(link.burst(t));
        sync.update(*estimator.estimate(t + 0.1));
        for (double at = t + 0.1; at < t + 5; at += 0.01) // a sample at that time of ours, stamped by the other clock
            if (const double error = std::abs(corrected(sync, at - link.offset(at)) - at); t > 60)
                worst = std::max(worst, error);
    }
    EXPECT_LT(worst, 250e-6);
}

} // namespace
