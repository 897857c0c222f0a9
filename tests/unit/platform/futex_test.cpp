#include "platform/futex.hpp"

#include "stress_scale.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

namespace rivulet::platform {
namespace {

using namespace std::chrono_literals;
using rivulet::testing::stress_rounds;

time_point patience() { return clock::now() + 60s; }

TEST(Deadline, IsNowPlusTimeoutAndNeverOverflows) {
    const time_point now = clock::now();
    EXPECT_EQ(deadline_after(now, 5ms), now + 5ms);
    EXPECT_EQ(deadline_after(now, 0ns), now);
    EXPECT_EQ(deadline_after(now, -5s), now);
    EXPECT_EQ(deadline_after(now, std::chrono::nanoseconds::min()), now);
    EXPECT_EQ(deadline_after(now, std::chrono::nanoseconds::max()), time_point::max());
    const auto rest = time_point::max() - now;
    EXPECT_EQ(deadline_after(now, rest), time_point::max());
    EXPECT_EQ(deadline_after(now, rest - 1ns), time_point::max() - 1ns);
}

TEST(Futex, DoesNotSleepOnAnotherValueNorPastItsDeadline) {
    std::atomic<std::uint32_t> word{7};
    futex_wait(word, 8, time_point::max());
    futex_wait(word, 7, clock::now() - 1s);
    futex_wait(word, 7, time_point(1ns));
    futex_wait(word, 7, time_point());
    futex_wait(word, 7, time_point(-1s));
    const time_point until = clock::now() + 2ms;
    while (clock::now() < until)
        futex_wait(word, 7, until);
    EXPECT_EQ(word, 7u);
}

TEST(Futex, WakesSleepers) {
    std::atomic<std::uint32_t> word{0};
    std::vector<std::jthread> sleepers;
    for (int i = 0; i < 3; ++i)
        sleepers.emplace_back([&] {
            while (word.load() == 0)
                futex_wait(word, 0, time_point::max());
        });
    word = 1;
    futex_wake_all(word);
    for (std::jthread& t : sleepers)
        t.join();
}

TEST(LightMutex, OneHolderAtATime) {
    light_mutex mutex;
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    std::jthread other([&] { EXPECT_FALSE(mutex.try_lock()); });
    other.join();
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(LightMutex, ManyThreadsCountExactly) {
    light_mutex mutex;
    std::uint64_t plain = 0; // what the mutex guards
    constexpr int threads = 4;
    const std::uint64_t rounds = stress_rounds(200'000);
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                if (t == 0 && i % 3 == 0) {
                    while (!mutex.try_lock())
                        std::this_thread::yield();
                } else {
                    mutex.lock();
                }
                ++plain;
                if (i % 1024 == 0)
                    std::this_thread::yield(); // others go to sleep meanwhile
                mutex.unlock();
            }
        });
    for (std::jthread& t : workers)
        t.join();
    EXPECT_EQ(plain, threads * rounds);
}

TEST(LightMutex, SleeperIsWokenByUnlock) {
    light_mutex mutex;
    for (int round = 0; round < 20; ++round) {
        mutex.lock();
        std::jthread other([&] { const std::lock_guard lock(mutex); });
        if (round % 2 == 0)
            for (int i = 0; i < 20; ++i)
                std::this_thread::yield(); // long enough for it to give up spinning
        mutex.unlock();
        other.join();
    }
}

TEST(Event, IsRememberedUntilItWasWaitedFor) {
    event e;
    e.set();
    e.set();
    EXPECT_TRUE(e.wait(time_point::max()));
    EXPECT_FALSE(e.wait(clock::now())) << "two sets are one event";
}

TEST(Event, DeadlinePassesWhenNobodySetsIt) {
    event e;
    EXPECT_FALSE(e.wait(clock::now() - 1s));
    const time_point deadline = clock::now() + 3ms;
    EXPECT_FALSE(e.wait(deadline));
    EXPECT_GE(clock::now(), deadline) << "not before";
    e.set();
    EXPECT_TRUE(e.wait(clock::now() - 1s)) << "set counts even past the deadline";
}

TEST(Event, WaitingCostsNoCpu) {
    const auto cpu = [] {
        timespec used{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    };
    event e;
    const auto before = cpu();
    EXPECT_FALSE(e.wait(clock::now() + 100ms));
    EXPECT_LT(cpu() - before, 20ms) << "of this thread's own time, whatever else the machine does";
}

TEST(Event, SetAfterATimeoutIsNotLost) {
    event e;
    EXPECT_FALSE(e.wait(clock::now() + 1ms));
    e.set();
    EXPECT_TRUE(e.wait(patience()));
    EXPECT_FALSE(e.wait(clock::now()));
}

TEST(Event, PublishesWhatWasWrittenBefore) {
    event there;
    event back;
    std::uint64_t ball = 0; // plain: the events order its accesses
    const std::uint64_t rounds = stress_rounds(50'000);
    std::jthread other([&] {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            ASSERT_TRUE(there.wait(patience())) << "lost wake-up in round " << i;
            ++ball;
            back.set();
        }
    });
    for (std::uint64_t i = 0; i < rounds; ++i) {
        ASSERT_EQ(ball, i);
        there.set();
        ASSERT_TRUE(back.wait(patience())) << "lost wake-up in round " << i;
    }
    other.join();
}

TEST(Event, RacingDeadlinesLoseNoSet) {
    // Each set must be seen by exactly one wait that returns true, however tight the deadlines are.
    event e;
    event seen;
    const std::uint64_t rounds = stress_rounds(50'000);
    std::jthread setter([&] {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            e.set();
            ASSERT_TRUE(seen.wait(patience()));
        }
    });
    std::uint64_t got = 0;
    for (std::uint64_t tries = 0; got < rounds; ++tries) {
        const auto tight = std::chrono::nanoseconds(tries % 64 * 1000);
        if (e.wait(clock::now() + (got % 16 == 15 ? std::chrono::nanoseconds(60s) : tight))) {
            ++got;
            seen.set();
        } else {
            ASSERT_NE(got % 16, 15u) << "lost wake-up";
        }
    }
    setter.join();
    EXPECT_FALSE(e.wait(clock::now()));
}

} // namespace
} // namespace rivulet::platform
