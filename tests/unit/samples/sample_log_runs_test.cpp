#include "log_samples.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace rivulet::samples {
namespace {

using namespace testing;

/// Pushes a chunk whose stamps follow from the last one's, as push_chunk does: cut where segments end.
void append_run(sample_log& log, std::uint32_t count, double last_stamp) {
    const double rate = log.options().rate_hz;
    for (std::uint32_t done = 0; done < count;) {
        const sample_log::room room = log.reserve(overflow::drop_oldest);
        const std::uint32_t n = std::min(room.count, count - done);
        const wire::stamp_run run{n, count - 1 - done, last_stamp};
        for (std::uint32_t i = 0; i < n; ++i)
            room.stamps[i] = wire::run_stamp(run, i, rate);
        std::fill_n(room.samples, n * 8, std::byte{0});
        log.commit(n, &run);
        done += n;
    }
}

/// Pushes samples with a stamp each.
void append_stamps(sample_log& log, std::uint32_t count, double first_stamp) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const sample_log::room room = log.reserve(overflow::drop_oldest);
        std::fill_n(room.samples, 8, std::byte{0});
        *room.stamps = first_stamp + i * 0.37;
        log.commit(1);
    }
}

/// Runs that cover the whole span give its stamps column bit for bit.
void expect_exact(const log_span& span, std::span<const wire::stamp_run> runs, double rate) {
    std::uint32_t at = 0;
    for (const wire::stamp_run& run : runs) {
        ASSERT_GE(run.count, 1u);
        ASSERT_GE(run.ahead, run.count - 1);
        ASSERT_LE(at + run.count, span.count);
        for (std::uint32_t j = 0; j < run.count; ++j, ++at)
            ASSERT_EQ(std::bit_cast<std::uint64_t>(wire::run_stamp(run, j, rate)),
                      std::bit_cast<std::uint64_t>(span.stamps()[at]));
    }
    ASSERT_EQ(at, span.count);
}

log_span sub_span(const log_span& span, std::uint32_t from, std::uint32_t count) {
    return {span.seg, span.position + from, span.index + from, count};
}

TEST(SampleLogRuns, EverySubRangeIsBitExact) {
    const auto log = make_log(64 << 10);
    double stamp = 1234.56789;
    for (const std::uint32_t n : {1u, 2u, 3u, 50u, 7u, 1u, 64u}) {
        stamp += n / 999.7;
        append_run(*log, n, stamp);
    }
    log_reader reader(log, 0, false);
    const log_span all = reader.peek();
    ASSERT_EQ(all.count, 128u);
    std::array<wire::stamp_run, 16> store;
    for (std::uint32_t from = 0; from < all.count; ++from)
        for (std::uint32_t count = 1; from + count <= all.count; ++count) {
            const log_span part = sub_span(all, from, count);
            const auto runs = part.collect_runs(store);
            ASSERT_FALSE(runs.empty());
            ASSERT_NO_FATAL_FAILURE(expect_exact(part, runs, test_rate));
        }
    EXPECT_EQ(all.collect_runs(store).size(), 7u);
}

TEST(SampleLogRuns, IrregularStreamsHaveRunsOfOneStamp) {
    const auto log = std::make_shared<sample_log>(
        log_options{.format = channel_format::int64, .channels = 1, .rate_hz = 0, .bytes = 64 << 10});
    append_run(*log, 5, 17.25);
    log_reader reader(log, 0, false);
    const log_span span = reader.peek();
    std::array<wire::stamp_run, 4> store;
    const auto runs = span.collect_runs(store);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].base, 17.25);
    expect_exact(span, runs, 0);
}

TEST(SampleLogRuns, OneSampleWithoutARunMeansTheColumn) {
    const auto log = make_log(64 << 10);
    append_run(*log, 10, 5);
    append_stamps(*log, 1, 6);
    append_run(*log, 10, 7);
    log_reader reader(log, 0, false);
    const log_span all = reader.peek();
    ASSERT_EQ(all.count, 21u);
    std::array<wire::stamp_run, 8> store;
    EXPECT_TRUE(all.collect_runs(store).empty());
    EXPECT_TRUE(sub_span(all, 5, 6).collect_runs(store).empty());
    EXPECT_TRUE(sub_span(all, 10, 1).collect_runs(store).empty());
    EXPECT_TRUE(sub_span(all, 10, 5).collect_runs(store).empty());
    EXPECT_EQ(sub_span(all, 0, 10).collect_runs(store).size(), 1u);
    const log_span tail = sub_span(all, 12, 9);
    expect_exact(tail, tail.collect_runs(store), test_rate);
}

TEST(SampleLogRuns, MoreRunsThanTheCallerHasRoomForMeanTheColumn) {
    const auto log = make_log(64 << 10);
    for (int i = 0; i < 5; ++i)
        append_run(*log, 4, 5 + i);
    log_reader reader(log, 0, false);
    const log_span all = reader.peek();
    std::array<wire::stamp_run, 5> store;
    EXPECT_EQ(all.collect_runs(store).size(), 5u);
    EXPECT_TRUE(all.collect_runs(std::span(store).first(4)).empty());
    EXPECT_EQ(sub_span(all, 0, 16).collect_runs(std::span(store).first(4)).size(), 4u);
    EXPECT_TRUE(sub_span(all, 1, 16).collect_runs(std::span(store).first(4)).empty());
    EXPECT_TRUE(all.collect_runs({}).empty());
}

TEST(SampleLogRuns, MoreRunsThanASegmentHasRoomForMeanTheColumn) {
    const auto log = make_log(64 << 10);
    const std::uint32_t capacity = log->reserve(overflow::drop_oldest).count;
    for (std::uint32_t i = 0; i < capacity; ++i)
        append_run(*log, 1, i);
    log_reader reader(log, 0, false);
    const log_span all = reader.peek();
    ASSERT_EQ(all.count, capacity);
    std::vector<wire::stamp_run> store(capacity);
    EXPECT_TRUE(all.collect_runs(store).empty());
    const std::uint32_t kept = all.seg->shape().runs;
    ASSERT_LT(kept, capacity);
    EXPECT_EQ(sub_span(all, 0, kept).collect_runs(store).size(), kept);
    EXPECT_TRUE(sub_span(all, 0, kept + 1).collect_runs(store).empty());
}

TEST(SampleLogRuns, RecycledSegmentForgetsItsRuns) {
    const auto log = make_log(0);
    const std::uint32_t capacity = log->reserve(overflow::drop_oldest).count;
    append_run(*log, 10 * capacity, 100);
    append_stamps(*log, 10 * capacity, 200);
    log_reader reader(log, log->oldest(), false);
    std::array<wire::stamp_run, 64> store;
    while (const log_span span = reader.peek()) {
        EXPECT_TRUE(span.collect_runs(store).empty());
        reader.advance(span.count);
    }
}

TEST(SampleLogRuns, RandomMixAcrossSegments) {
    dice roll(11);
    std::uint64_t with_runs = 0;
    std::uint64_t without = 0;
    for (int round = 0; round < 20; ++round) {
        const auto log = make_log(64 << 10);
        log_reader reader(log, 0, false);
        std::array<wire::stamp_run, 128> store;
        double stamp = 1e5;
        for (int step = 0; step < 200; ++step) {
            const std::uint32_t n = 1 + roll(900);
            stamp += n / test_rate + roll(1000) * 1e-9;
            if (roll(4) != 0)
                append_run(*log, n, stamp);
            else
                append_stamps(*log, 1 + n % 3, stamp);
            while (const log_span span = reader.peek(1 + roll(1200))) {
                const auto runs = span.collect_runs(store);
                if (runs.empty()) {
                    ++without;
                } else {
                    ++with_runs;
                    ASSERT_NO_FATAL_FAILURE(expect_exact(span, runs, test_rate));
                }
                reader.advance(span.count);
            }
        }
        ASSERT_EQ(reader.take_lost(), 0u);
    }
    EXPECT_GT(with_runs, 100u);
    EXPECT_GT(without, 100u);
}

TEST(SampleLogRuns, TextChunksHaveRunsToo) {
    const auto log = std::make_shared<sample_log>(
        log_options{.format = channel_format::string, .channels = 2, .rate_hz = test_rate, .bytes = 64 << 10});
    const std::string text(100, 't');
    const std::vector<std::string_view> values(2 * 200, text);
    const wire::stamp_run whole{200, 199, 77.125};
    std::vector<double> stamps(200);
    for (std::uint32_t i = 0; i < 200; ++i)
        stamps[i] = wire::run_stamp(whole, i, test_rate);
    log_reader reader(log, 0, false);
    for (std::uint32_t done = 0; done < 200;) {
        const wire::stamp_run rest{200 - done, 199 - done, 77.125};
        done +=
            log->append_text(std::span(values).subspan(2 * done), stamps.data() + done, overflow::drop_oldest, &rest);
    }
    std::array<wire::stamp_run, 4> store;
    std::uint32_t spans = 0;
    while (const log_span span = reader.peek()) {
        const auto runs = span.collect_runs(store);
        ASSERT_EQ(runs.size(), 1u);
        ASSERT_NO_FATAL_FAILURE(expect_exact(span, runs, test_rate));
        reader.advance(span.count);
        ++spans;
    }
    EXPECT_GT(spans, 1u);
    EXPECT_EQ(reader.position(), 200u);
}

} // namespace
} // namespace rivulet::samples
