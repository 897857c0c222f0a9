#include "log_samples.hpp"

#include <chrono>
#include <latch>
#include <thread>

namespace rivulet::samples {
namespace {

using namespace testing;
using namespace std::chrono_literals;

platform::time_point soon() { return platform::clock::now() + 1ms; }
platform::time_point patience() { return platform::clock::now() + 60s; }

TEST(SampleLogRoom, RefusesRatherThanDropWhatAHoldingReaderLacks) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    const std::uint64_t taken = append_until_refused(*log);
    EXPECT_GT(taken, 0u);
    EXPECT_EQ(log->head(), taken);
    EXPECT_EQ(log->oldest(), 0u);
    EXPECT_EQ(log->reserve(overflow::refuse).count, 0u);
    tally got;
    got.take_all(holder);
    EXPECT_EQ(got.read, taken);
    EXPECT_EQ(got.wrong, 0u);
    EXPECT_EQ(append_until_refused(*log), taken) << "all room is there again";
    got.take_all(holder);
    EXPECT_EQ(got.read, 2 * taken);
    EXPECT_EQ(got.lost, 0u);
}

TEST(SampleLogRoom, OthersAreNotWaitedFor) {
    const auto log = make_log(32 << 10);
    log_reader slow(log, 0, false);
    EXPECT_EQ(append(*log, 100'000, overflow::refuse), 100'000u);
    tally got;
    got.take_all(slow);
    EXPECT_EQ(got.read + got.lost, 100'000u);
}

TEST(SampleLogRoom, DroppingPolicyDoesNotCareWhoHolds) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    EXPECT_EQ(append(*log, 100'000, overflow::drop_oldest), 100'000u);
    tally got;
    got.take_all(holder);
    EXPECT_EQ(got.read + got.lost, 100'000u);
    EXPECT_GT(got.lost, 0u);
}

TEST(SampleLogRoom, OneSegmentReadIsRoomForOneSegment) {
    const auto log = make_log(64 << 10);
    const std::uint32_t capacity = log->reserve(overflow::refuse).count;
    log_reader holder(log, 0, true);
    const std::uint64_t taken = append_until_refused(*log);
    ASSERT_EQ(taken % capacity, 0u);
    ASSERT_GE(taken / capacity, 2u);
    holder.advance(capacity - 1);
    EXPECT_EQ(append_until_refused(*log), 0u);
    holder.advance(1);
    EXPECT_EQ(append_until_refused(*log), capacity);
    EXPECT_EQ(log->oldest(), capacity);
}

TEST(SampleLogRoom, TheSlowestHolderDecides) {
    const auto log = make_log(64 << 10);
    log_reader fast(log, 0, true);
    auto slow = std::make_unique<log_reader>(log, 0, true);
    append_until_refused(*log);
    tally got;
    got.take_all(fast);
    EXPECT_EQ(append_until_refused(*log), 0u);
    slow.reset();
    EXPECT_GT(append_until_refused(*log), 0u);
    got.take_all(fast);
    EXPECT_EQ(got.lost, 0u);
}

TEST(SampleLogRoom, WaitEndsAtTheDeadlineWhenNobodyReads) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    append_until_refused(*log);
    EXPECT_FALSE(log->wait_for_room(soon()));
    EXPECT_FALSE(log->wait_for_room(platform::clock::now() - 1s));
}

/// Makes room in one way while the producer waits; it must go on at once, not at its deadline.
template<class MakeRoom>
void expect_room_after(const std::shared_ptr<sample_log>& log, MakeRoom make_room) {
    ASSERT_EQ(append_until_refused(*log), 0u) << "the test begins with a full log";
    std::latch waiting(1);
    bool room = false;
    std::jthread producer([&] {
        waiting.count_down();
        room = log->wait_for_room(patience());
        EXPECT_TRUE(room);
        EXPECT_NE(log->reserve(overflow::refuse).count, 0u);
    });
    waiting.wait();
    make_room();
    producer.join();
    EXPECT_TRUE(room);
}

TEST(SampleLogRoom, EveryWayOfMakingRoomEndsTheWait) {
    const auto log = make_log(32 << 10);
    const std::uint32_t capacity = log->reserve(overflow::refuse).count;
    auto holder = std::make_unique<log_reader>(log, 0, true);
    append_until_refused(*log);
    expect_room_after(log, [&] { holder->advance(capacity); }); // without another peek
    append_until_refused(*log);
    expect_room_after(log, [&] { holder->skip_to(log->head()); });
    append_until_refused(*log);
    expect_room_after(log, [&] {
        while (const log_span span = holder->peek(1))
            holder->advance(1);
    });
    append_until_refused(*log);
    expect_room_after(log, [&] { holder.reset(); });
}

TEST(SampleLogRoom, InterruptEndsThisAndLaterWaits) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    append_until_refused(*log);
    std::jthread producer([&] { EXPECT_FALSE(log->wait_for_room(patience())); });
    log->interrupt_wait();
    producer.join();
    EXPECT_FALSE(log->wait_for_room(platform::time_point::max()));
}

TEST(SampleLogRoom, FinishEndsWaits) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    append_until_refused(*log);
    log->finish();
    EXPECT_FALSE(log->wait_for_room(platform::time_point::max()));
}

TEST(SampleLogRoom, CallbackComesOnceForARefusalAndNeverWithoutOne) {
    const auto log = make_log(32 << 10);
    int called = 0;
    log->on_room([&] { ++called; });
    auto holder = std::make_unique<log_reader>(log, 0, true);
    append(*log, 10);
    tally got;
    got.take_all(*holder);
    EXPECT_EQ(called, 0) << "nobody was refused";
    append_until_refused(*log);
    EXPECT_EQ(called, 0);
    got.take_all(*holder);
    EXPECT_EQ(called, 1);
    append_until_refused(*log);
    holder->skip_to(log->head());
    EXPECT_EQ(called, 2);
    append_until_refused(*log);
    holder.reset();
    EXPECT_EQ(called, 3);
    append(*log, 100'000);
    EXPECT_EQ(called, 3);

    log->on_room({});
    log_reader another(log, log->head(), true);
    append_until_refused(*log);
    got.take_all(another);
    EXPECT_EQ(called, 3);
}

TEST(SampleLogRoom, RefusalThatDroppedSomeSegmentsAlreadyGoesOnLater) {
    const auto log = make_log(64 << 10, 1, channel_format::blob);
    const std::string quarter(16 << 10, 'q');
    const std::string huge(60 << 10, 'h');
    const double stamp = 1;
    const auto push = [&](std::string_view value, overflow policy) {
        return log->append_text({&value, 1}, &stamp, policy);
    };
    log_reader holder(log, 0, true);
    int called = 0;
    log->on_room([&] { ++called; });
    ASSERT_EQ(push(quarter, overflow::refuse), 1u);
    ASSERT_EQ(push(quarter, overflow::refuse), 1u);
    ASSERT_EQ(push(quarter, overflow::refuse), 1u);
    std::uint64_t read = 0;
    while (push(huge, overflow::refuse) == 0) { // needs all others gone: one call a value read
        ASSERT_EQ(static_cast<std::uint64_t>(called), read);
        ASSERT_EQ(holder.peek().count, 1u);
        holder.advance(1);
        ++read;
    }
    EXPECT_GE(read, 2u);
    EXPECT_EQ(holder.take_lost(), 0u);
}

TEST(SampleLogRoom, LaggardsAreReleasedAndWaitedForAgainWhenTheyCaughtUp) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    EXPECT_EQ(log->release_laggards(), 0u) << "nobody holds anybody up";
    const std::uint64_t full = append_until_refused(*log);
    EXPECT_EQ(log->release_laggards(), 1u);
    EXPECT_EQ(log->release_laggards(), 0u) << "released already";
    EXPECT_EQ(append(*log, 3 * full, overflow::refuse), 3 * full);

    tally got;
    got.take(holder); // reads, but does not catch up: still not waited for
    EXPECT_EQ(append(*log, 3 * full, overflow::refuse), 3 * full);
    got.take_all(holder);
    EXPECT_EQ(got.read + got.lost, log->head());
    EXPECT_GT(got.lost, 0u);

    const std::uint64_t lost = got.lost;
    append_until_refused(*log);
    EXPECT_EQ(log->reserve(overflow::refuse).count, 0u) << "caught up: waited for again";
    got.take_all(holder);
    EXPECT_EQ(got.lost, lost);
    EXPECT_EQ(got.read + got.lost, log->head());
    EXPECT_EQ(got.wrong, 0u);
}

TEST(SampleLogRoom, LaggardThatCaughtUpIsWaitedForAgainBeforeItLooksAgain) {
    const auto log = make_log(32 << 10);
    log_reader holder(log, 0, true);
    append_until_refused(*log);
    EXPECT_EQ(log->release_laggards(), 1u);
    while (holder.position() < log->head())
        holder.advance(holder.peek().count);
    append_until_refused(*log);
    EXPECT_EQ(log->reserve(overflow::refuse).count, 0u);
    EXPECT_EQ(holder.total_lost(), 0u);
}

TEST(SampleLogRoom, OnlyLaggardsAreReleased) {
    const auto log = make_log(32 << 10);
    log_reader good(log, 0, true);
    log_reader bad(log, 0, true);
    append_until_refused(*log);
    tally got;
    got.take_all(good);
    EXPECT_EQ(log->release_laggards(), 1u);
    append_until_refused(*log);
    got.take_all(good);
    EXPECT_EQ(got.lost, 0u);
    EXPECT_EQ(got.read, log->head());
    EXPECT_GT(bad.out_of_window(), 0u);
}

TEST(SampleLogRoom, HolderThatBeginsInThePastIsWaitedForFromThere) {
    const auto log = make_log(32 << 10);
    append(*log, 100'000);
    log_reader holder(log, log->oldest(), true);
    tally got(log->oldest());
    append_until_refused(*log);
    got.take_all(holder);
    EXPECT_EQ(got.lost, 0u);
    EXPECT_EQ(got.next, log->head());
}

TEST(SampleLogRead, TellsOnceThatAnAnnouncingReaderGotThere) {
    const auto log = make_log(32 << 10);
    int told = 0;
    log->on_read([&told] { ++told; });
    append(*log, 100, overflow::drop_oldest);
    log_reader silent(log, 0, false);
    log_reader reader(log, 0, false, true);
    reader.advance(10);
    EXPECT_EQ(told, 0) << "nobody asked";
    log->announce_read(50);
    silent.advance(60);
    reader.advance(39);
    EXPECT_EQ(told, 0);
    reader.advance(1);
    EXPECT_EQ(told, 1);
    reader.advance(50);
    EXPECT_EQ(told, 1) << "asked once";
    log->announce_read(100);
    EXPECT_EQ(told, 1) << "whoever asks looks by himself";
    reader.skip_to(101);
    EXPECT_EQ(told, 2);
}

} // namespace
} // namespace rivulet::samples
