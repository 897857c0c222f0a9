#include "common/age_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace rivulet::tools {
namespace {

TEST(AgeHistogram, PercentilesAreWithinTwoPercentOfTheTruth) {
    std::mt19937 random(3);
    std::lognormal_distribution<double> ages(-8, 2);
    std::vector<double> all;
    age_histogram histogram;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        all.push_back(ages(random));
        histogram.add(all.back(), i);
    }
    std::ranges::sort(all);
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999}) {
        const double truth = all[static_cast<std::size_t>(std::ceil(fraction * 1e5)) - 1] * 1e3;
        EXPECT_NEAR(histogram.percentile_ms(fraction), truth, truth * 0.02 + 1e-6) << fraction;
    }
    EXPECT_DOUBLE_EQ(histogram.max_ms(), all.back() * 1e3);
}

TEST(AgeHistogram, ClassesIncludeTheirUpperBound) {
    age_histogram histogram;
    for (const double ms : {-3.0, 0.0, 0.5, 0.6, 1.0, 5.0, 9.9, 10.0, 10.1, 5000.0})
        histogram.add(ms * 1e-3, 0);
    EXPECT_EQ(histogram.classes(), (std::array<std::uint64_t, 5>{3, 2, 1, 2, 2}));
}

TEST(AgeHistogram, KnowsWhereTheOldestWas) {
    age_histogram histogram;
    histogram.add(0.001, 10);
    histogram.add(0.100, 20);
    histogram.add(0.002, 30);
    EXPECT_EQ(histogram.max_at_sequence(), 20u);
    EXPECT_NEAR(histogram.mean_ms(), 103.0 / 3, 1e-9);
}

TEST(AgeHistogram, SurvivesAbsurdAges) {
    age_histogram histogram;
    for (const double seconds : {-1e300, 1e300, std::nan(""), HUGE_VAL, 0.0})
        histogram.add(seconds, 1);
    EXPECT_EQ(histogram.count(), 5u);
    EXPECT_TRUE(std::isfinite(histogram.mean_ms()));
    EXPECT_TRUE(std::isfinite(histogram.percentile_ms(0.99)));
}

} // namespace
} // namespace rivulet::tools
