#include "log_samples.hpp"
#include "stress_scale.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace rivulet::samples {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using rivulet::testing::stress_rounds;

/// Generous: reached only when a wake-up was lost.
platform::time_point watchdog() { return platform::clock::now() + 60s; }

void spin(std::uint32_t rounds) {
    for (std::atomic<std::uint32_t> i{0}; i.load(std::memory_order_relaxed) < rounds;)
        i.fetch_add(1, std::memory_order_relaxed);
}

struct sleeper : log_waiter {
    void wake() noexcept override { event.set(); }
    platform::event event;
};

/// Reads until the log is finished and empty; `pause` is called with each span before the reader lets go of it.
template<class Pause>
void read_to_the_end(sample_log& log, log_reader& reader, tally& got, Pause pause) {
    sleeper waiter;
    log.add_waiter(waiter);
    for (;;) {
        const bool finished = log.finished(); // before the last look at the head
        if (const log_span span = reader.peek()) {
            pause(span);
            ASSERT_TRUE(got.take(reader, span.count));
        } else if (finished && reader.lag() == 0) {
            break;
        } else if (!finished && log.arm(waiter, reader.position())) {
            ASSERT_TRUE(waiter.event.wait(watchdog())) << "lost wake-up";
        }
    }
    log.remove_waiter(waiter);
}

TEST(SampleLogStress, ReadersOfAllSpeedsSeeRightValuesAndCountTheirLosses) {
    const auto log = make_log(64 << 10, 2);
    const std::uint64_t total = stress_rounds(3'000'000);
    const std::uint32_t pauses[] = {0, 300, 60'000};
    tally got[3];
    std::vector<std::unique_ptr<log_reader>> readers;
    for (int i = 0; i < 3; ++i)
        readers.push_back(std::make_unique<log_reader>(log, 0, false));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            read_to_the_end(*log, *readers[i], got[i], [&](const log_span& span) {
                spin(pauses[i]);
                got[i].wrong += wrong_samples(span); // it must still be what it was
            });
        });
    dice roll(1);
    while (log->head() < total)
        append(*log, std::min<std::uint64_t>(1 + roll(200), total - log->head()));
    log->finish();
    for (std::jthread& t : threads)
        t.join();
    for (const tally& t : got) {
        EXPECT_EQ(t.read + t.lost, total);
        EXPECT_EQ(t.wrong, 0u);
        EXPECT_TRUE(t.gap_counted);
    }
}

TEST(SampleLogStress, NoWakeUpIsLost) {
    const auto log = make_log(64 << 10);
    const std::uint64_t rounds = stress_rounds(200'000);
    std::atomic<std::uint64_t> consumed{0};
    std::atomic<std::uint64_t> slept{0};
    std::jthread reading([&] {
        sleeper waiter;
        log->add_waiter(waiter);
        log_reader reader(log, 0, false);
        tally got;
        for (;;) {
            got.take_all(reader);
            consumed.store(got.next);
            if (log->finished() && reader.lag() == 0)
                break;
            if (log->arm(waiter, reader.position())) {
                ASSERT_TRUE(waiter.event.wait(watchdog())) << "lost wake-up after " << got.next;
                slept.fetch_add(1, std::memory_order_relaxed);
            }
        }
        log->remove_waiter(waiter);
        EXPECT_EQ(got.wrong, 0u);
        EXPECT_EQ(got.lost, 0u);
    });
    dice roll(2);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        for (std::uint32_t burst = 1 + roll(4); burst > 0; --burst)
            append(*log, 1);
        // Nothing follows until the reader has it: a wake-up lost here would not be made up for by the next one.
        const platform::time_point limit = watchdog();
        for (std::uint32_t tries = 0; consumed.load() != log->head(); ++tries)
            if (tries % 64 == 63) {
                std::this_thread::yield();
                ASSERT_LT(platform::clock::now(), limit) << "lost wake-up in round " << i;
            }
        spin(roll(8) == 0 ? roll(3000) : roll(12)); // asleep by now, or just about to
    }
    log->finish();
    reading.join();
    EXPECT_GT(slept, 0u) << "the reader was never asleep: nothing was tested";
}

TEST(SampleLogStress, WaitingProducerLosesNothingOfASlowHolder) {
    const auto log = make_log(16 << 10);
    const std::uint64_t total = stress_rounds(1'000'000);
    tally held;
    tally free;
    log_reader holder(log, 0, true);
    log_reader other(log, 0, false);
    std::jthread holding([&] {
        dice roll(3);
        read_to_the_end(*log, holder, held, [&](const log_span&) { spin(roll(4000)); });
    });
    std::jthread reading([&] {
        dice roll(4);
        read_to_the_end(*log, other, free, [&](const log_span&) { spin(roll(400)); });
    });
    std::uint64_t waits = 0;
    for (std::uint64_t done = 0; done < total;) {
        done += append(*log, std::min<std::uint64_t>(100, total - done), overflow::refuse);
        if (done < total && log->reserve(overflow::refuse).count == 0) {
            ++waits;
            ASSERT_TRUE(log->wait_for_room(watchdog())) << "lost wake-up";
        }
    }
    log->finish();
    holding.join();
    reading.join();
    EXPECT_EQ(held.read, total);
    EXPECT_EQ(held.lost, 0u);
    EXPECT_EQ(held.wrong, 0u);
    EXPECT_EQ(free.read + free.lost, total);
    EXPECT_EQ(free.wrong, 0u);
    EXPECT_GT(waits, 0u);
}

/// Segments of one sample, and two of them: every sample needs room that only the reader's last step has made.
std::shared_ptr<sample_log> make_narrow_log() { return make_log(0, 512); }

/// Appends one sample, whatever it holds; false when refused.
bool append_one(sample_log& log) {
    if (log.reserve(overflow::refuse).count == 0)
        return false;
    log.commit(1);
    return true;
}

/// Moves on, mostly to the head: no later step makes up for a call that this one owed.
void pass(log_reader& reader, dice& roll) {
    if (roll(4) != 0)
        reader.skip_to(reader.log().head());
    else
        reader.advance(1);
}

TEST(SampleLogStress, RoomCallbackIsNeverMissed) {
    // Nobody sleeps here, so that a refusal and the step that makes room meet as often as can be.
    const auto log = make_narrow_log();
    const std::uint64_t total = stress_rounds(1'000'000);
    std::atomic<bool> room{false};
    std::atomic<bool> stop{false};
    log->on_room([&] { room = true; });
    log_reader holder(log, 0, true);
    std::jthread reading([&] {
        dice roll(5);
        for (std::uint32_t tries = 0; holder.position() < total && !stop.load();) {
            if (!holder.peek()) {
                if (++tries % 64 == 0)
                    std::this_thread::yield();
                continue;
            }
            spin(roll(12));
            pass(holder, roll);
        }
    });
    dice roll(7);
    while (log->head() < total && !stop) {
        spin(roll(12));
        if (append_one(*log))
            continue;
        const platform::time_point limit = watchdog();
        for (std::uint32_t tries = 1; !room.exchange(false) && !stop; ++tries)
            if (tries % 64 == 0) {
                std::this_thread::yield();
                stop = platform::clock::now() > limit;
            }
    }
    EXPECT_FALSE(stop) << "lost call after " << log->head();
    reading.join();
    EXPECT_EQ(holder.take_lost(), 0u);
}

TEST(SampleLogStress, WaitForRoomIsAlwaysEnded) {
    const auto log = make_narrow_log();
    const std::uint64_t total = stress_rounds(100'000);
    log_reader holder(log, 0, true);
    std::jthread reading([&] {
        sleeper waiter;
        log->add_waiter(waiter);
        dice roll(5);
        while (holder.position() < total) {
            if (holder.peek()) {
                spin(roll(20));
                pass(holder, roll);
            } else if (log->arm(waiter, holder.position())) {
                ASSERT_TRUE(waiter.event.wait(watchdog())) << "lost wake-up of the reader";
            }
        }
        log->remove_waiter(waiter);
    });
    dice roll(8);
    while (log->head() < total) {
        spin(roll(20));
        if (!append_one(*log)) {
            ASSERT_TRUE(log->wait_for_room(watchdog())) << "lost wake-up of the producer";
        }
    }
    reading.join();
    EXPECT_EQ(holder.position(), total);
    EXPECT_EQ(holder.take_lost(), 0u);
}

TEST(SampleLogStress, ReadersComeAndGoWhileTheProducerGoesOn) {
    const auto log = make_log(32 << 10);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sessions{0};
    std::atomic<std::uint64_t> wrong{0};
    const std::uint64_t enough = stress_rounds(10'000);
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            dice roll(10 + t);
            while (!stop.load()) {
                sleeper waiter;
                log->add_waiter(waiter);
                const std::uint64_t start = roll(2) == 0 ? log->head() : log->oldest();
                {
                    log_reader reader(log, start, t == 0);
                    tally got(start);
                    for (std::uint32_t i = roll(6); i > 0; --i)
                        if (!got.take(reader, 1 + roll(500)) && !stop.load() && log->arm(waiter, reader.position()))
                            waiter.event.wait(platform::clock::now() + 1ms); // the producer may be waiting for us
                    segment_ref shared = reader.share_segment();
                    wrong += got.wrong + (got.gap_counted ? 0 : 1) + (got.read + got.lost + start != got.next ? 1 : 0);
                    wrong += log->oldest() > log->head() ? 1 : 0;
                    wrong += log->position_since(stamp_at(start)) < start ? 1 : 0;
                    reader.out_of_window();
                }
                log->remove_waiter(waiter);
                sessions.fetch_add(1, std::memory_order_relaxed);
            }
        });
    dice roll(6);
    while (sessions.load(std::memory_order_relaxed) < enough) {
        const bool wait = roll(2) == 0;
        append(*log, 1 + roll(300), wait ? overflow::refuse : overflow::drop_oldest);
        if (wait && log->reserve(overflow::refuse).count == 0 && roll(4) == 0)
            log->release_laggards();
    }
    stop = true;
    log->finish();
    for (std::jthread& t : threads)
        t.join();
    EXPECT_EQ(wrong, 0u);
}

} // namespace
} // namespace rivulet::samples
