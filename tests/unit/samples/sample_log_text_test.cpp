#include "log_samples.hpp"

#include <algorithm>

namespace rivulet::samples {
namespace {

using namespace testing;

/// Reads all there is; checks every value and stamp.
void expect_texts(log_reader& reader, std::uint64_t& next, std::uint64_t& lost) {
    const std::size_t channels = reader.log().options().channels;
    while (const log_span span = reader.peek()) {
        lost += reader.take_lost();
        ASSERT_EQ(span.position, next + lost);
        ASSERT_EQ(span.offsets().size(), span.count * channels + 1);
        ASSERT_EQ(span.text().size(), span.offsets().back() - span.offsets().front());
        for (std::uint32_t i = 0; i < span.count; ++i) {
            ASSERT_EQ(span.stamps()[i], stamp_at(span.position + i));
            for (std::size_t c = 0; c < channels; ++c)
                ASSERT_EQ(text_of(span, i * channels + c), text_at(span.position + i, c));
        }
        next += span.count;
        reader.advance(span.count);
    }
}

TEST(SampleLogText, EveryLengthComesBackOverManySegments) {
    for (const std::size_t channels : {1u, 2u, 7u}) {
        for (const std::uint64_t chunk : {1u, 5u, 1000u}) {
            const auto log = make_log(4 << 20, channels, channel_format::string);
            log_reader reader(log, 0, false);
            EXPECT_EQ(append_text(*log, 5000, chunk), 5000u);
            std::uint64_t next = 0;
            std::uint64_t lost = 0;
            ASSERT_NO_FATAL_FAILURE(expect_texts(reader, next, lost));
            EXPECT_EQ(next, 5000u);
            EXPECT_EQ(lost, 0u);
        }
    }
}

TEST(SampleLogText, SlowReaderLosesOldestAndCountsIt) {
    const auto log = make_log(64 << 10, 2, channel_format::string);
    log_reader reader(log, 0, false);
    dice roll(3);
    std::uint64_t next = 0;
    std::uint64_t lost = 0;
    for (int i = 0; i < 60; ++i) {
        append_text(*log, 1 + roll(2500), 1 + roll(200));
        ASSERT_NO_FATAL_FAILURE(expect_texts(reader, next, lost));
        ASSERT_EQ(next + lost, log->head());
    }
    EXPECT_GT(lost, 0u);
    EXPECT_GT(next, 0u);
}

TEST(SampleLogText, OffsetsOfACutSpanAreNotRebased) {
    const auto log = make_log(64 << 10, 1, channel_format::string);
    append_text(*log, 20);
    log_reader reader(log, 0, false);
    reader.advance(7);
    const log_span span = reader.peek(5);
    ASSERT_EQ(span.count, 5u);
    EXPECT_EQ(span.index, 7u);
    EXPECT_GT(span.offsets().front(), 0u);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_EQ(text_of(span, i), text_at(7 + i, 0));
}

TEST(SampleLogText, OnlyWholeSamplesThatFitOneSegmentAreTakenAtOnce) {
    const auto log = make_log(32 << 10, 2, channel_format::string);
    const std::string text(300, 'x');
    const std::vector<std::string_view> values(200, text); // 100 samples of 600 bytes
    const std::vector<double> stamps(100, 1.0);
    const std::uint32_t taken = log->append_text(values, stamps.data(), overflow::drop_oldest);
    EXPECT_GE(taken, 1u);
    EXPECT_LT(taken, 100u);
    EXPECT_EQ(log->head(), taken);
    const std::uint32_t more =
        log->append_text(std::span(values).subspan(2 * taken), stamps.data() + taken, overflow::drop_oldest);
    EXPECT_GE(more, 1u);
    log_reader reader(log, 0, false);
    EXPECT_EQ(reader.peek().count, taken);
}

TEST(SampleLogText, ValueLargerThanASegmentGetsItsOwn) {
    const auto log = make_log(64 << 10, 1, channel_format::blob);
    const std::string small = "small";
    const double stamp = 1;
    const auto push = [&](std::string_view value) {
        return log->append_text({&value, 1}, &stamp, overflow::drop_oldest);
    };
    log_reader reader(log, 0, false);
    for (const std::size_t size : {std::size_t{7000}, std::size_t{200'000}, std::size_t{5u << 20}}) {
        std::string huge(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            huge[i] = static_cast<char>(i * 7 + size);
        EXPECT_EQ(push(small), 1u);
        EXPECT_EQ(push(huge), 1u);
        EXPECT_EQ(push(small), 1u);
        std::vector<std::string> read;
        while (const log_span span = reader.peek()) {
            for (std::uint32_t i = 0; i < span.count; ++i)
                read.emplace_back(text_of(span, i));
            reader.advance(span.count);
        }
        EXPECT_EQ(reader.take_lost() + read.size(), 3u);
        ASSERT_GE(read.size(), 2u) << "at least two segments are kept";
        EXPECT_EQ(read[read.size() - 2], huge);
        EXPECT_EQ(read.back(), small);
    }
}

TEST(SampleLogText, HugeValueFirstOfAll) {
    const auto log = make_log(0, 1, channel_format::blob);
    const std::string huge(1 << 20, 'h');
    const std::string_view value = huge;
    const double stamp = 1;
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(log->append_text({&value, 1}, &stamp, overflow::drop_oldest), 1u);
        log_reader reader(log, log->head() - 1, false);
        ASSERT_EQ(text_of(reader.peek(), 0), huge);
    }
    EXPECT_EQ(log->oldest(), 3u);
}

TEST(SampleLogText, EmptyTextsOnlyStillFillSegments) {
    const auto log = make_log(32 << 10, 3, channel_format::string);
    const std::vector<std::string_view> values(3 * 100);
    const std::vector<double> stamps(100, 2.0);
    log_reader reader(log, 0, false);
    std::uint64_t pushed = 0;
    for (int i = 0; i < 200; ++i)
        pushed += log->append_text(values, stamps.data(), overflow::drop_oldest);
    std::uint64_t read = 0;
    while (const log_span span = reader.peek()) {
        EXPECT_TRUE(span.text().empty());
        read += span.count;
        reader.advance(span.count);
    }
    EXPECT_EQ(read + reader.take_lost(), pushed);
}

TEST(SampleLogText, AfterARefusalOrderIsKept) {
    const auto log = make_log(32 << 10, 1, channel_format::string);
    auto holder = std::make_unique<log_reader>(log, 0, true);
    const std::string big(2000, 'b');
    const std::string_view big_view = big;
    const std::string_view small_view = "s";
    const double stamp = 1;
    std::uint64_t bigs = 0;
    while (log->append_text({&big_view, 1}, &stamp, overflow::refuse) == 1)
        ++bigs;
    EXPECT_EQ(log->append_text({&small_view, 1}, &stamp, overflow::refuse), 0u)
        << "the segment was closed by the refusal, though the small one would fit";
    std::uint64_t read = 0;
    for (log_span span = holder->peek(); span; span = holder->peek()) {
        read += span.count;
        holder->advance(span.count);
    }
    EXPECT_EQ(read, bigs);
    EXPECT_EQ(log->append_text({&small_view, 1}, &stamp, overflow::refuse), 1u);
    EXPECT_EQ(log->append_text({&big_view, 1}, &stamp, overflow::refuse), 1u);
    EXPECT_EQ(holder->peek().count, 2u);
    EXPECT_EQ(holder->take_lost(), 0u);
}

} // namespace
} // namespace rivulet::samples
