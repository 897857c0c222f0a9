#include "log_samples.hpp"

#include <algorithm>

namespace rivulet::samples {
namespace {

using namespace testing;

TEST(SampleLog, EmptyLogHasNothing) {
    const auto log = make_log(64 << 10);
    log_reader reader(log, 0, false);
    EXPECT_FALSE(reader.peek());
    EXPECT_EQ(log->head(), 0u);
    EXPECT_EQ(log->oldest(), 0u);
    EXPECT_EQ(log->position_since(-1e9), 0u);
    EXPECT_EQ(reader.lag(), 0u);
    EXPECT_EQ(reader.out_of_window(), 0u);
    EXPECT_FALSE(reader.share_segment());
}

TEST(SampleLog, WhatIsCommittedIsThereAndNoMore) {
    const auto log = make_log(64 << 10, 3);
    log_reader reader(log, 0, false);
    const sample_log::room room = log->reserve(overflow::drop_oldest);
    ASSERT_GE(room.count, 2u);
    EXPECT_FALSE(reader.peek()) << "reserved is not published";
    append(*log, 2);
    const log_span span = reader.peek();
    EXPECT_EQ(span.count, 2u);
    EXPECT_EQ(span.position, 0u);
    EXPECT_EQ(span.sample_bytes(), 2u * 3 * 8);
    EXPECT_EQ(wrong_samples(span), 0u);
    EXPECT_EQ(reader.lag(), 2u);
    reader.advance(2);
    EXPECT_FALSE(reader.peek());
    EXPECT_EQ(reader.lag(), 0u);
}

TEST(SampleLog, EveryFixedFormatKeepsItsBytes) {
    for (const channel_format format : {channel_format::float32, channel_format::float64, channel_format::int8,
                                        channel_format::int16, channel_format::int32, channel_format::int64}) {
        for (const std::size_t channels : {1u, 3u, 64u, 2000u}) {
            const auto log = make_log(256 << 10, channels, format);
            const std::size_t bytes = value_bytes(format) * channels;
            log_reader reader(log, 0, false);
            std::uint64_t read = 0;
            for (std::uint64_t position = 0; position < 100; ++position) {
                const sample_log::room room = log->reserve(overflow::drop_oldest);
                ASSERT_GE(room.count, 1u);
                std::memset(room.samples, static_cast<int>(position), bytes);
                room.stamps[0] = stamp_at(position);
                log->commit(1);
                const log_span span = reader.peek();
                ASSERT_EQ(span.count, 1u);
                ASSERT_EQ(span.sample_bytes(), bytes);
                ASSERT_EQ(span.stamps()[0], stamp_at(position));
                ASSERT_TRUE(std::all_of(span.samples(), span.samples() + bytes,
                                        [&](std::byte b) { return b == static_cast<std::byte>(position); }));
                reader.advance(1);
                ++read;
            }
            EXPECT_EQ(read, 100u);
        }
    }
}

TEST(SampleLog, SpansEndWithTheirSegment) {
    const auto log = make_log(1 << 20);
    const std::uint64_t capacity = log->reserve(overflow::drop_oldest).count;
    append(*log, 3 * capacity + 7);
    log_reader reader(log, 0, false);
    for (int i = 0; i < 3; ++i) {
        const log_span span = reader.peek();
        EXPECT_EQ(span.position, i * capacity);
        EXPECT_EQ(span.count, capacity);
        EXPECT_EQ(span.index, 0u);
        EXPECT_EQ(wrong_samples(span), 0u);
        reader.advance(span.count);
    }
    EXPECT_EQ(reader.peek().count, 7u);
    EXPECT_EQ(reader.take_lost(), 0u);
}

TEST(SampleLog, AnyCutOfReadsGivesTheSameSamples) {
    const auto log = make_log(1 << 20, 2);
    const std::uint64_t total = append(*log, 10'000);
    for (const std::uint32_t max : {1u, 2u, 3u, 100u, 4096u, UINT32_MAX}) {
        log_reader reader(log, 0, false);
        tally got;
        while (got.take(reader, max)) {
        }
        EXPECT_EQ(got.read, total);
        EXPECT_EQ(got.wrong, 0u);
        EXPECT_TRUE(got.gap_counted);
    }
}

TEST(SampleLog, SlowReaderLosesOldestAndCountsIt) {
    const auto log = make_log(32 << 10);
    log_reader reader(log, 0, false);
    append(*log, 100'000);
    EXPECT_EQ(reader.out_of_window(), log->oldest());
    tally got;
    got.take_all(reader);
    EXPECT_EQ(got.read + got.lost, 100'000u);
    EXPECT_GT(got.lost, 0u);
    EXPECT_EQ(got.lost, log->oldest());
    EXPECT_TRUE(got.gap_counted);
    EXPECT_EQ(got.wrong, 0u);
    EXPECT_EQ(reader.take_lost(), 0u) << "a loss is told once";
    EXPECT_EQ(reader.out_of_window(), 0u);
}

TEST(SampleLog, LossesAreExactAtEverySpeed) {
    dice roll(7);
    for (int round = 0; round < 200; ++round) {
        const auto log = make_log(16 << 10);
        append(*log, roll(3000));
        const std::uint64_t start = std::min<std::uint64_t>(roll(4000), log->head());
        log_reader reader(log, start, false);
        tally got(start);
        for (int step = 0; step < 40; ++step) {
            append(*log, roll(1500));
            for (std::uint32_t reads = roll(5); reads > 0; --reads)
                got.take(reader, 1 + roll(700));
            ASSERT_EQ(start + got.read + got.lost, reader.position());
            ASSERT_EQ(got.next, reader.position());
        }
        const std::uint64_t expected_loss = got.lost + reader.out_of_window();
        got.take_all(reader);
        ASSERT_EQ(start + got.read + got.lost, log->head());
        ASSERT_EQ(got.lost, expected_loss) << "out_of_window tells what will be lost";
        ASSERT_TRUE(got.gap_counted);
        ASSERT_EQ(got.wrong, 0u);
    }
}

TEST(SampleLog, ReaderFinishesTheDroppedSegmentItIsIn) {
    const auto log = make_log(32 << 10);
    const std::uint32_t capacity = log->reserve(overflow::drop_oldest).count;
    append(*log, 10);
    log_reader reader(log, 0, false);
    tally got;
    got.take(reader, 4);
    append(*log, 20 * capacity);
    ASSERT_GT(log->oldest(), capacity);
    EXPECT_EQ(reader.out_of_window(), log->oldest() - capacity);
    got.take(reader, 6); // what was known of before
    got.take(reader);
    EXPECT_EQ(got.read, capacity) << "to the segment's end, though the log dropped it";
    EXPECT_EQ(got.lost, 0u);
    got.take(reader, 1);
    EXPECT_EQ(got.lost, log->oldest() - capacity);
    EXPECT_EQ(got.read, capacity + 1);
    EXPECT_EQ(got.wrong, 0u);
}

TEST(SampleLog, NewReaderAtTheHeadGetsTheVeryNextSample) {
    const auto log = make_log(32 << 10);
    const std::uint64_t capacity = log->reserve(overflow::drop_oldest).count;
    for (const std::uint64_t before : {std::uint64_t{0}, capacity - 1, capacity, capacity + 1, 30 * capacity}) {
        append(*log, before);
        const std::uint64_t start = log->head();
        log_reader reader(log, start, false);
        EXPECT_FALSE(reader.peek());
        append(*log, 1);
        const log_span span = reader.peek();
        EXPECT_EQ(span.position, start);
        EXPECT_EQ(span.count, 1u);
        EXPECT_EQ(reader.take_lost(), 0u);
    }
}

TEST(SampleLog, ReaderAheadOfTheHeadWaitsForItsPosition) {
    const auto log = make_log(32 << 10);
    append(*log, 5);
    log_reader reader(log, 8, false);
    EXPECT_FALSE(reader.peek());
    EXPECT_EQ(reader.lag(), 0u);
    append(*log, 3);
    EXPECT_FALSE(reader.peek());
    append(*log, 1);
    EXPECT_EQ(reader.peek().position, 8u);
}

TEST(SampleLog, SkippingIsNoLoss) {
    const auto log = make_log(32 << 10);
    append(*log, 50'000);
    log_reader reader(log, 0, false);
    reader.skip_to(log->head() - 1);
    const log_span span = reader.peek();
    EXPECT_EQ(span.count, 1u);
    EXPECT_EQ(span.position, 49'999u);
    EXPECT_EQ(wrong_samples(span), 0u);
    EXPECT_EQ(reader.take_lost(), 0u);
    reader.skip_to(10);
    EXPECT_EQ(reader.position(), 49'999u) << "only forward";
    reader.skip_to(log->head());
    EXPECT_FALSE(reader.peek());
}

TEST(SampleLog, OldestIsTheFirstThatAReaderCanHave) {
    const auto log = make_log(32 << 10);
    for (int i = 0; i < 50; ++i) {
        append(*log, 777);
        log_reader reader(log, 0, false);
        EXPECT_EQ(reader.peek(1).position, log->oldest());
        log_reader exact(log, log->oldest(), false);
        EXPECT_TRUE(exact.peek(1));
        EXPECT_EQ(exact.take_lost(), 0u);
    }
}

TEST(SampleLog, PositionSinceFindsTheFirstStampThatIsLateEnough) {
    const auto log = make_log(64 << 10);
    append(*log, 20'000);
    const std::uint64_t oldest = log->oldest();
    ASSERT_GT(oldest, 0u);
    EXPECT_EQ(log->position_since(-1), oldest);
    EXPECT_EQ(log->position_since(stamp_at(oldest)), oldest);
    EXPECT_EQ(log->position_since(stamp_at(19'999)), 19'999u);
    EXPECT_EQ(log->position_since(stamp_at(19'999) + 0.001), 20'000u) << "none: the head";
    for (std::uint64_t position = oldest + 1; position < 20'000; position += 97) {
        ASSERT_EQ(log->position_since(stamp_at(position)), position);
        ASSERT_EQ(log->position_since(stamp_at(position) - 0.01), position);
    }
}

TEST(SampleLog, PositionSinceNeedsNoOrderOfStamps) {
    const auto log = make_log(64 << 10);
    const double stamps[] = {5, 3, 9, 1, 7};
    for (const double stamp : stamps) {
        *log->reserve(overflow::drop_oldest).stamps = stamp;
        log->commit(1);
    }
    EXPECT_EQ(log->position_since(4), 0u);
    EXPECT_EQ(log->position_since(6), 2u);
    EXPECT_EQ(log->position_since(10), 5u);
}

TEST(SampleLog, PositionsFitAMillionChannelsOfDoubles) {
    const std::size_t channels = 1u << 20;
    const auto log = make_log(16 << 20, channels, channel_format::float64);
    log_reader reader(log, 0, false);
    for (std::uint64_t position = 0; position < 5; ++position) {
        const sample_log::room room = log->reserve(overflow::drop_oldest);
        ASSERT_EQ(room.count, 1u);
        auto* values = reinterpret_cast<double*>(room.samples);
        std::fill_n(values, channels, static_cast<double>(position));
        *room.stamps = stamp_at(position);
        log->commit(1);
        const log_span span = reader.peek();
        ASSERT_EQ(span.sample_bytes(), channels * 8);
        const auto* read = reinterpret_cast<const double*>(span.samples());
        ASSERT_EQ(read[0], static_cast<double>(position));
        ASSERT_EQ(read[channels - 1], static_cast<double>(position));
        ASSERT_EQ(span.stamps()[0], stamp_at(position));
        reader.advance(1);
    }
    EXPECT_EQ(reader.take_lost(), 0u);
    EXPECT_EQ(log->oldest(), 3u) << "never fewer than two segments";
}

TEST(SampleLog, TinyBudgetStillHoldsTwoSegments) {
    const auto log = make_log(0);
    const std::uint64_t capacity = log->reserve(overflow::drop_oldest).count;
    ASSERT_GE(capacity, 1u);
    append(*log, 10 * capacity);
    EXPECT_EQ(log->oldest(), 8 * capacity);
}

struct counting_waiter : log_waiter {
    void wake() noexcept override { ++woken; }
    int woken = 0;
};

TEST(SampleLog, ArmedWaiterIsWokenOnceByWhatComesNext) {
    const auto log = make_log(32 << 10);
    counting_waiter waiter;
    counting_waiter bystander;
    log->add_waiter(waiter);
    log->add_waiter(bystander);
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 0) << "not armed";
    EXPECT_FALSE(log->arm(waiter, 0)) << "there is something already";
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 0);
    EXPECT_TRUE(log->arm(waiter, 2));
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 1);
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 1);
    EXPECT_TRUE(log->arm(waiter, 4));
    log->disarm(waiter);
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 1);
    EXPECT_TRUE(log->arm(waiter, 100)) << "ahead of the head there is nothing yet";
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 2);
    EXPECT_TRUE(log->arm(waiter, 6));
    log->remove_waiter(waiter);
    append(*log, 1);
    EXPECT_EQ(waiter.woken, 2);
    EXPECT_EQ(bystander.woken, 0);
}

TEST(SampleLog, WaiterMayReadAndArmAgainWhileItIsWoken) {
    struct inline_reader : log_waiter {
        explicit inline_reader(std::shared_ptr<sample_log> log) : reader(std::move(log), 0, false) {}
        void wake() noexcept override {
            do
                got.take_all(reader);
            while (!reader.log().arm(*this, reader.position()));
        }
        log_reader reader;
        tally got;
    };
    const auto log = make_log(32 << 10);
    inline_reader waiter(log);
    log->add_waiter(waiter);
    ASSERT_TRUE(log->arm(waiter, 0));
    for (int i = 0; i < 1000; ++i)
        append(*log, 13);
    EXPECT_EQ(waiter.got.read, log->head());
    EXPECT_EQ(waiter.got.wrong, 0u);
    log->remove_waiter(waiter);
}

TEST(SampleLog, FinishWakesSleepersAndRefusesNewSleep) {
    const auto log = make_log(32 << 10);
    counting_waiter waiter;
    log->add_waiter(waiter);
    ASSERT_TRUE(log->arm(waiter, 0));
    EXPECT_FALSE(log->finished());
    log->finish();
    EXPECT_TRUE(log->finished());
    EXPECT_EQ(waiter.woken, 1);
    EXPECT_FALSE(log->arm(waiter, 0));
    log->finish();
    EXPECT_EQ(waiter.woken, 1);
    log->remove_waiter(waiter);
}

} // namespace
} // namespace rivulet::samples
