#include "platform/log_throttle.hpp"

#include <gtest/gtest.h>

namespace rivulet::platform {
namespace {

constexpr double window = log_throttle::window_seconds;

unsigned admitted(log_throttle& t, std::string_view event, std::string_view subject, double now, unsigned times) {
    unsigned count = 0;
    for (unsigned i = 0; i < times; ++i)
        count += t.admit(event, subject, 3, now) ? 1 : 0;
    return count;
}

TEST(LogThrottle, FirstOnesPassTheRestIsCounted) {
    log_throttle t;
    EXPECT_EQ(admitted(t, "lost", "EEG", 0, 12), log_throttle::burst);
    EXPECT_TRUE(t.take_summaries(window - 1).empty());
    const auto summaries = t.take_summaries(window);
    ASSERT_EQ(summaries.size(), 1u);
    EXPECT_EQ(summaries[0].event, "lost");
    EXPECT_EQ(summaries[0].subject, "EEG");
    EXPECT_EQ(summaries[0].level, 3);
    EXPECT_EQ(summaries[0].suppressed, 12 - log_throttle::burst);
    EXPECT_TRUE(t.take_summaries(window).empty());
}

TEST(LogThrottle, EventsAndSubjectsAreCountedApart) {
    log_throttle t;
    for (const char* event : {"lost", "kicked"})
        for (const char* subject : {"EEG", "EMG"})
            EXPECT_EQ(admitted(t, event, subject, 0, 12), log_throttle::burst);
}

TEST(LogThrottle, OneAWindowPassesWhileItGoesOn) {
    log_throttle t;
    admitted(t, "lost", "EEG", 0, 12);
    for (int i = 1; i < 5; ++i) {
        EXPECT_EQ(t.take_summaries(i * window).size(), 1u);
        EXPECT_EQ(admitted(t, "lost", "EEG", i * window, 12), 1u);
    }
}

TEST(LogThrottle, IsForgottenAfterAQuietWindow) {
    log_throttle t;
    admitted(t, "lost", "EEG", 0, 12);
    EXPECT_EQ(t.take_summaries(window).size(), 1u);
    EXPECT_TRUE(t.take_summaries(2 * window).empty());
    EXPECT_EQ(admitted(t, "lost", "EEG", 2 * window, 12), log_throttle::burst);
}

TEST(LogThrottle, AllCanBeTakenAtTheEnd) {
    log_throttle t;
    admitted(t, "lost", "EEG", 0, 12);
    EXPECT_EQ(t.take_all().size(), 1u);
    EXPECT_TRUE(t.take_all().empty());
}

TEST(LogThrottle, ManySubjectsShareOneCount) {
    log_throttle t;
    unsigned passed = 0;
    for (int i = 0; i < 100'000; ++i)
        passed += t.admit("garbage", std::to_string(i), 3, 0) ? 1 : 0;
    EXPECT_EQ(passed, log_throttle::max_subjects + log_throttle::burst);
    const auto summaries = t.take_summaries(window);
    ASSERT_EQ(summaries.size(), 1u);
    EXPECT_EQ(summaries[0].subject, "");
    EXPECT_EQ(summaries[0].suppressed, 100'000 - passed);
    EXPECT_TRUE(t.admit("garbage", "new", 3, window));
}

} // namespace
} // namespace rivulet::platform
