#include <transport/stream_segments.hpp>

#include <gtest/gtest.h>

namespace rivulet::transport {
namespace {

stream_info named(const std::string& uid) { return {.name = "x", .uid = uid}; }

void push(samples::sample_log& log, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto room = log.reserve(samples::sample_log::overflow::drop_oldest);
        std::fill_n(room.samples, sizeof(float), std::byte{0});
        *room.stamps = 1.0;
        log.commit(1);
    }
}

TEST(StreamSegments, APositionIsInOne) {
    stream_segments all(named("a"));
    all.begin(named("b"), 10, 0);
    all.begin(named("c"), 30, 0);
    EXPECT_EQ(all.at(0)->info->uid, "a");
    EXPECT_EQ(all.at(9)->info->uid, "a");
    EXPECT_EQ(all.at(10)->info->uid, "b");
    EXPECT_EQ(all.at(30)->info->uid, "c");
    EXPECT_EQ(all.at(1000)->base, 30u);
    EXPECT_EQ(all.current()->info->uid, "c");
    EXPECT_EQ(all.find("b", 0)->base, 10u);
    EXPECT_EQ(all.find("d", 0), nullptr);
}

TEST(StreamSegments, EmptyOnesAndThoseOutOfTheWindowAreForgotten) {
    stream_segments all(named("a"));
    all.begin(named("b"), 10, 0);
    all.begin(named("c"), 10, 0);
    EXPECT_EQ(all.find("b", 0), nullptr);
    EXPECT_EQ(all.at(10)->info->uid, "c");
    all.begin(named("d"), 20, 15);
    EXPECT_EQ(all.find("a", 0), nullptr);
    EXPECT_EQ(all.at(3)->info->uid, "c") << "the oldest that is kept";
}

TEST(StreamSegments, AConsumerFollowsAtItsOwnPace) {
    const auto log = std::make_shared<samples::sample_log>(samples::log_options{});
    stream_segments all(named("a"));
    push(*log, 10);
    all.begin(named("b"), log->head(), 0);
    push(*log, 5);
    samples::log_reader reader(log, 0, false);
    segment_share mine = all.at(0);

    samples::log_span span = reader.peek();
    EXPECT_EQ(span.count, 15u);
    EXPECT_FALSE(follow(all, mine, reader, span));
    EXPECT_EQ(span.count, 10u) << "cut where the segment ends";
    reader.advance(span.count);

    span = reader.peek();
    EXPECT_TRUE(follow(all, mine, reader, span));
    EXPECT_EQ(mine->info->uid, "b");
    EXPECT_EQ(span.count, 5u);
    EXPECT_EQ(span.position - mine->base, 0u);
    reader.advance(span.count);

    all.begin(named("c"), log->head(), 0);
    span = reader.peek();
    EXPECT_FALSE(span);
    EXPECT_TRUE(follow(all, mine, reader, span)) << "also when nothing follows yet";
    EXPECT_EQ(mine->info->uid, "c");
    EXPECT_FALSE(follow(all, mine, reader, span));
}

TEST(StreamSegments, NumbersLeftOutBeginAnotherStretchOfTheSameOne) {
    const auto log = std::make_shared<samples::sample_log>(samples::log_options{});
    stream_segments all(named("a"), 100);
    EXPECT_EQ(0 - all.current()->base, 100u) << "the number of the first sample";
    push(*log, 10);
    all.skip(log->head(), 0, 500); // 110 to 499 are left out
    push(*log, 5);
    samples::log_reader reader(log, 0, false);
    segment_share mine = all.at(0);
    samples::log_span span = reader.peek();
    EXPECT_FALSE(follow(all, mine, reader, span));
    EXPECT_EQ(span.count, 10u);
    reader.advance(span.count);
    span = reader.peek();
    EXPECT_FALSE(follow(all, mine, reader, span)) << "nothing to be told of: it is the same stream";
    EXPECT_EQ(span.position - mine->base, 500u);
    EXPECT_EQ(span.count, 5u);

    EXPECT_EQ(all.find("a", 105)->begin, 0u);
    EXPECT_EQ(all.find("a", 110)->begin, 0u) << "it has all of that stretch, and goes on from its end";
    EXPECT_EQ(all.find("a", 300)->begin, 10u);
    EXPECT_EQ(all.find("a", 9999)->begin, 10u);
    EXPECT_EQ(all.current_at(3)->begin, 0u);
    EXPECT_EQ(all.current_at(10)->begin, 10u);
    all.skip(log->head(), 0, 600);
    all.skip(log->head(), 0, 700);
    EXPECT_EQ(all.current()->begin - all.current()->base, 700u) << "an empty stretch leaves no trace";
    all.begin(named("b"), log->head(), 0);
    EXPECT_EQ(all.current_at(0)->info->uid, "b") << "not another uid's";
}

TEST(StreamSegments, ARelayedStreamIsFoundByWhatItRepeats) {
    stream_info info = named("relayed");
    info.origin = "first-hand";
    stream_segments all(info);
    EXPECT_EQ(all.find("first-hand", 0), all.current());
    EXPECT_EQ(all.find("relayed", 0), all.current());
}

} // namespace
} // namespace rivulet::transport
