#include "common/stop_signal.hpp"
#include "common/watcher.hpp"

#include <rivulet/clock.hpp>

#include <cerrno>
#include <csignal>
#include <future>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace rivulet::tools {
namespace {

TEST(StopSignal, SignalsAreSeenAndStaySeen) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        stop_signal stop;
        EXPECT_FALSE(stop.requested());
        raise(number);
        EXPECT_TRUE(stop.requested());
        pollfd entry{stop.fd(), POLLIN, 0};
        EXPECT_EQ(poll(&entry, 1, 0), 1);
        EXPECT_TRUE(stop.wait_until(local_clock() + 3600));
    }
}

TEST(StopSignal, AWaitReachesItsDeadline) {
    stop_signal stop;
    const double deadline = local_clock() + 0.01;
    EXPECT_FALSE(stop.wait_until(deadline));
    EXPECT_GE(local_clock(), deadline);
}

TEST(StopSignal, ASignalEndsAWait) {
    stop_signal stop;
    auto waiting = std::async(std::launch::async, [&] { return stop.wait_until(local_clock() + 3600); });
    kill(getpid(), SIGTERM);
    EXPECT_TRUE(waiting.get());
}

TEST(StopSignal, AWriteToAClosedPipeIsAnError) {
    stop_signal stop;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    close(ends[1]);
}

TEST(Watcher, TellsOfAStopOnceAndTicksOn) {
    stop_signal stop;
    std::promise<void> told;
    std::promise<void> ticked;
    bool first = true;
    watcher beside(
        stop,
        [&, done = false]() mutable { !std::exchange(done, true) && stop.requested() ? ticked.set_value() : void(); },
        [&] {
            ASSERT_TRUE(first);
            first = false;
            told.set_value();
        });
    stop.request();
    told.get_future().get();
    ticked.get_future().get();
}

TEST(Watcher, EndsWithoutAStop) {
    stop_signal stop;
    watcher beside(stop, nullptr, [] { FAIL(); });
}

} // namespace
} // namespace rivulet::tools
