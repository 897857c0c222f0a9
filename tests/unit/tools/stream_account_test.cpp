#include "common/stream_account.hpp"

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

std::string json_of(const stream_account& account) {
    json_writer json;
    account.to_json(json.begin_object(), "ended");
    return json.end_object().text();
}

TEST(StreamAccount, GaplessStreamLosesNothing) {
    stream_account account;
    EXPECT_FALSE(account.chunk(100, 10, 0, 1.0, 1.001).lost);
    EXPECT_FALSE(account.chunk(110, 10, 0, 2.0, 2.001).lost);
    EXPECT_FALSE(account.ended(0).lost);
    EXPECT_EQ(account.samples(), 20u);
    EXPECT_EQ(account.dropped(), 0u);
    EXPECT_DOUBLE_EQ(account.rate_hz().value(), 10.0);
}

TEST(StreamAccount, LossesBeforeBetweenAndAfterCount) {
    stream_account account;
    EXPECT_EQ(account.chunk(5, 5, 5, 0, 0).lost, (gap{0, 5}));
    EXPECT_EQ(account.chunk(20, 5, 10, 0, 0).lost, (gap{10, 10}));
    EXPECT_EQ(account.ended(3).lost, (gap{25, 3}));
    EXPECT_EQ(account.dropped(), 18u);
    EXPECT_EQ(account.gaps(), (std::vector<gap>{{0, 5}, {10, 10}, {25, 3}}));
    EXPECT_EQ(account.next_sequence(), 28u);
}

TEST(StreamAccount, AJumpThatNobodyAnnouncedIsAGapToo) {
    stream_account account;
    account.chunk(0, 10, 0, 0, 0);
    EXPECT_EQ(account.chunk(15, 1, 0, 0, 0).lost, (gap{10, 5}));
}

TEST(StreamAccount, AnEndBeyondWhatCameIsALoss) {
    stream_account account;
    account.chunk(0, 10, 0, 0, 0);
    EXPECT_EQ(account.ended(0, 12).lost, (gap{10, 2}));
}

TEST(StreamAccount, RepeatsAreCountedAndHideNoGap) {
    stream_account account;
    account.chunk(0, 10, 0, 0, 0);
    EXPECT_EQ(account.chunk(5, 10, 0, 0, 0).repeated, 5u);
    EXPECT_EQ(account.chunk(3, 2, 0, 0, 0).repeated, 2u);
    EXPECT_EQ(account.chunk(20, 1, 0, 0, 0).lost, (gap{15, 5}));
    EXPECT_NE(json_of(account).find("\"repeated\":7,"), std::string::npos) << json_of(account);
}

TEST(StreamAccount, ANewSegmentStartsAfresh) {
    stream_account account;
    account.chunk(1000, 10, 0, 0, 0);
    account.new_segment();
    const auto found = account.chunk(0, 10, 0, 0, 0);
    EXPECT_FALSE(found.lost);
    EXPECT_EQ(found.repeated, 0u);
    EXPECT_EQ(account.segments(), 2u);
}

TEST(StreamAccount, ManyGapsAreCountedAndTheFirstListed) {
    stream_account account;
    for (std::uint64_t i = 0; i < 2000; ++i)
        account.chunk(i * 2, 1, i == 0 ? 0 : 1, 0, 0);
    EXPECT_EQ(account.dropped(), 1999u);
    EXPECT_EQ(account.gaps().size(), stream_account::max_gaps);
    EXPECT_NE(json_of(account).find("\"gaps_not_listed\":999,"), std::string::npos);
}

TEST(StreamAccount, TheSummaryHasEveryField) {
    stream_account account;
    account.name = "E\"EG";
    account.uid = "u";
    account.source_id = "s";
    account.link = "zmq+tcp://h:1";
    account.chunk(10, 10, 2, 1.0, 1.0004);
    account.chunk(20, 10, 0, 2.0, 2.5);
    EXPECT_EQ(
        json_of(account).substr(0, json_of(account).find(":1,\"recoveries\"")),
        R"({"name":"E\"EG","uid":"u","source_id":"s","link":"zmq+tcp://h:1","samples":20,"seq_first":10,"seq_last":29,)"
        R"("dropped":2,"dropped_pct":9.090909090909092,"repeated":0,"gaps":[{"first_seq":8,"count":2}],)"
        R"("gaps_not_listed":0,"segments")");
    for (const char* field :
         {"\"rate_hz\":", "\"age_ms\":{\"mean\":", "\"p50\":", "\"p99\":", "\"max\":500,", "\"max_at_seq\":29}",
          "\"age_hist\":{\"le_0_5\":1,\"le_1\":0,\"le_5\":0,\"le_10\":0,"
          "\"gt_10\":1}",
          "\"clock\":null", "\"end\":\"ended\"}"})
        EXPECT_NE(json_of(account).find(field), std::string::npos) << field << " in " << json_of(account);
}

TEST(StreamAccount, AgesWaitForTheClockOfTheStreamsHost) {
    stream_account account;
    account.await_clock();
    account.chunk(0, 10, 0, 100'001.0, 1.5); // its clock is 100000 s ahead of ours
    account.chunk(10, 10, 0, 100'002.0, 2.25);
    EXPECT_NE(json_of(account).find("\"age_ms\":{\"mean\":null"), std::string::npos) << json_of(account);
    EXPECT_FALSE(account.recent_age_ms());
    account.clock_is(clock_offset{-100'000, 1e-5, 2e-5});
    EXPECT_FALSE(account.awaits_clock());
    account.chunk(20, 10, 0, 100'003.0, 3.125);
    EXPECT_NE(json_of(account).find("\"max\":500,\"max_at_seq\":9}"), std::string::npos) << json_of(account);
    EXPECT_NEAR(account.recent_age_ms().value(), 875.0 / 3, 1e-6);
    EXPECT_FALSE(account.recent_age_ms()) << "nothing has come since";
    EXPECT_NE(json_of(account).find("\"clock\":{\"offset_s\":-1e+05,\"uncertainty_s\":1e-05,\"rtt_s\":2e-05}"),
              std::string::npos)
        << json_of(account);
    EXPECT_NE(account.to_text("ended").find("clock offset -100000.000000 s +- 0.010 ms (rtt 0.020 ms)"),
              std::string::npos)
        << account.to_text("ended");
}

TEST(StreamAccount, ClocksThatMayBeTheSameAreTakenForIt) {
    stream_account account;
    account.clock_is(clock_offset{1e-5, 2e-5, 4e-5});
    account.chunk(0, 1, 0, 1.0, 1.5);
    EXPECT_NE(json_of(account).find("\"max\":500,"), std::string::npos) << json_of(account);
}

TEST(StreamAccount, StampsThatAreCorrectedAlreadyAreNotCorrectedAgain) {
    stream_account account;
    account.stamps_are_local = true;
    account.clock_is(clock_offset{-100'000, 1e-5, 2e-5});
    account.chunk(0, 1, 0, 1.0, 1.5);
    EXPECT_NE(json_of(account).find("\"max\":500,"), std::string::npos) << json_of(account);
}

TEST(StreamAccount, WithoutAClockAgesAreThoseOfOurs) {
    stream_account account;
    account.await_clock();
    account.chunk(0, 1, 0, 1.0, 1.5);
    account.clock_is(std::nullopt);
    EXPECT_NE(json_of(account).find("\"max\":500,"), std::string::npos) << json_of(account);
    EXPECT_NE(account.to_text("ended").find("clock offset unknown"), std::string::npos);
}

TEST(StreamAccount, RecoveriesAreTold) {
    stream_account account;
    EXPECT_NE(json_of(account).find("\"recoveries\":0,"), std::string::npos) << json_of(account);
    account.recoveries = 2;
    EXPECT_NE(json_of(account).find("\"recoveries\":2,"), std::string::npos);
    EXPECT_NE(account.to_text("ended").find("2 recoveries"), std::string::npos);
}

TEST(StreamAccount, NothingReceivedIsNullNotZero) {
    EXPECT_NE(json_of(stream_account()).find("\"seq_first\":null,\"seq_last\":null"), std::string::npos);
    EXPECT_NE(json_of(stream_account()).find("\"rate_hz\":null,\"age_ms\":{\"mean\":null"), std::string::npos);
}

} // namespace
} // namespace rivulet::tools
