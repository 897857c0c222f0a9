#include "common/pacer.hpp"

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

TEST(Pacer, LatenessDoesNotAddUp) {
    pacer pace(10'000, 100.0);
    double now = 100.0;
    for (int i = 0; i < 100'000; ++i) {
        now = std::max(now, pace.due()) + 60e-6; // every push is 60 us late
        pace.pushed(1, now);
    }
    EXPECT_NEAR(pace.due(), 110.0, 1e-9);
    EXPECT_EQ(pace.restarts(), 0u);
}

TEST(Pacer, AChunkIsDueAfterItsSamples) {
    pacer pace(1000, 5.0);
    EXPECT_DOUBLE_EQ(pace.due(), 5.0);
    pace.pushed(250, 5.0);
    EXPECT_DOUBLE_EQ(pace.due(), 5.25);
}

TEST(Pacer, FarBehindStartsAfreshWithoutABurst) {
    pacer pace(1000, 0.0);
    pace.pushed(1, 0.0);
    pace.pushed(1, 30.0); // stopped for half a minute
    EXPECT_DOUBLE_EQ(pace.due(), 30.001);
    EXPECT_EQ(pace.restarts(), 1u);
}

TEST(Pacer, AShortHiccupIsMadeUp) {
    pacer pace(1000, 0.0);
    pace.pushed(1, 0.0);
    pace.pushed(1, 0.010);
    EXPECT_DOUBLE_EQ(pace.due(), 0.002);
    EXPECT_EQ(pace.restarts(), 0u);
}

} // namespace
} // namespace rivulet::tools
