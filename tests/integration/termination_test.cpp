// SIGTERM ends a publisher whatever it is doing, every time.
#include "child_process.hpp"
#include "links.hpp"

#include <rivulet/rivulet.hpp>

#include <gtest/gtest.h>
#include <iostream>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::child_process;
using support::program_beside;
using waiting::eventually;

constexpr int rounds = 50;

class Termination : public ::testing::TestWithParam<links::link> {
protected:
    /// Starts a publisher that floods a consumer which does not read, and terminates it: must exit with 0.
    void terminate_again_and_again(const std::string& mode, const std::string& full, bool until_blocked) {
        std::chrono::duration<double, std::milli> longest{0};
        for (int round = 0; round < rounds; ++round) {
            SCOPED_TRACE(round);
            child_process publisher({program_beside("test_source"), GetParam().any(), mode, full, "flood"});
            const std::string endpoint = publisher.line();
            ASSERT_NE(endpoint, "");
            inlet stuck(endpoint, {.full = when_full::hold, .max_buffered = std::size_t{1} << 20});
            ASSERT_TRUE(publisher.says("connected"));
            if (until_blocked)
                ASSERT_TRUE(publisher.blocked());
            else
                ASSERT_TRUE(eventually([&] { return stuck.stats().buffered > 0; }));
            const auto asked = std::chrono::steady_clock::now();
            publisher.signal(SIGTERM);
            ASSERT_EQ(publisher.exit_code(10s), 0) << "(nothing: it did not exit)";
            longest = std::max<decltype(longest)>(longest, std::chrono::steady_clock::now() - asked);
            EXPECT_EQ(publisher.line(), "stopped");
        }
        std::cout << rounds << " of " << rounds << " exited; the longest took " << longest.count() << " ms\n";
    }
};
INSTANTIATE_TEST_SUITE_P(Over, Termination, ::testing::ValuesIn(links::between_processes), links::name_of);

TEST_P(Termination, EndsABlockedPushOfAWaitingOutlet) { terminate_again_and_again("async", "wait", true); }

TEST_P(Termination, EndsABlockedPushInSyncMode) { terminate_again_and_again("sync", "drop", true); }

TEST_P(Termination, EndsAnOutletWithUndeliveredSamples) { terminate_again_and_again("async", "drop", false); }

TEST_P(Termination, EndsAPublisherWhoseConsumerIsStopped) {
    for (const std::string mode : {"async", "sync"}) {
        for (int round = 0; round < 10; ++round) {
            SCOPED_TRACE(mode);
            child_process publisher({program_beside("test_source"), GetParam().any(), mode, "wait", "flood"});
            child_process consumer({program_beside("test_sink"), publisher.line(), "drop"});
            ASSERT_TRUE(consumer.says("connected"));
            ASSERT_TRUE(consumer.stop());
            ASSERT_TRUE(publisher.blocked());
            publisher.signal(SIGTERM);
            ASSERT_EQ(publisher.exit_code(10s), 0) << "(nothing: it did not exit)";
        }
    }
}

TEST_P(Termination, EndsAnIdlePublisherAndItsConsumerSeesTheEnd) {
    for (int round = 0; round < 10; ++round) {
        child_process publisher({program_beside("test_source"), GetParam().any(), "async", "drop", "idle"});
        child_process consumer({program_beside("test_sink"), publisher.line(), "drop"});
        ASSERT_TRUE(consumer.says("connected"));
        ASSERT_TRUE(publisher.says("connected"));
        publisher.signal(SIGTERM);
        EXPECT_EQ(publisher.exit_code(10s), 0);
        EXPECT_EQ(consumer.line(), "ended 0 0");
        EXPECT_EQ(consumer.exit_code(), 0);
    }
}

} // namespace
} // namespace rivulet
