// What can be asked of an outlet beside its data: where, its counters, its clock.
#include "contract.hpp"

namespace rivulet::contract {
namespace {

class Service : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Service, ::testing::ValuesIn(links::all), links::name_of);

TEST_P(Service, AnOutletNamesWhereItAnswers) {
    const outlet out = serve(counter());
    const auto named = out.service_endpoints();
    ASSERT_EQ(named.size(), 1u);
    const std::string data = out.endpoints().front();
    EXPECT_EQ(named.front().substr(0, named.front().find("://")), data.substr(0, data.find("://")));
    EXPECT_NE(named.front(), data);
}

TEST_P(Service, OutletsOfAContextAnswerAtOnePlace) {
    const context mine;
    const outlet a = serve(counter(), {.ctx = mine});
    const outlet b = serve(counter(), {.ctx = mine});
    EXPECT_EQ(a.service_endpoints(), b.service_endpoints());
    const context other;
    const outlet c = serve(counter(), {.ctx = other});
    EXPECT_NE(a.service_endpoints(), c.service_endpoints());
}

TEST_P(Service, TheCountersOfAnOutletCanBeAsked) {
    outlet out = serve(counter());
    inlet in = connect(out, {.name = "watcher"});
    out.push_chunk(counting(0, 1000));
    pull<std::int64_t>(in, 1000);
    const auto stats = in.remote_stats(patience);
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->pushed, 1000u);
    EXPECT_EQ(stats->sent, 1000u);
    EXPECT_EQ(stats->consumers, 1u);
    ASSERT_EQ(stats->current.size(), 1u);
    EXPECT_EQ(stats->current.front().name, "watcher");
    EXPECT_EQ(stats->current.front().id, out.stats().current.front().id);
    EXPECT_EQ(stats->current.front().sent, 1000u);
}

TEST_P(Service, SyncOutletsAnswerAsWell) {
    outlet out = serve(counter(), sync_mode());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    const auto stats = in.remote_stats(patience);
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->pushed, 10u);
}

TEST_P(Service, TheClockOfTheSameHostIsOurs) {
    const outlet out = serve(counter());
    const inlet in = connect(out);
    const auto clock = in.time_correction(patience);
    ASSERT_TRUE(clock);
    EXPECT_LE(std::abs(clock->offset_s), clock->uncertainty_s);
    EXPECT_GT(clock->uncertainty_s, 0.0);
    EXPECT_GE(clock->rtt_s, 0.0);
    EXPECT_TRUE(in.time_correction(0s)) << "once there is one, it is there at once";
}

TEST_P(Service, RecordersGetEachMeasurementOfTheClockOnce) {
    const context mine; // nobody else has measured
    const outlet out = serve(counter());
    inlet in = connect(out, {.ctx = mine});
    inlet late = connect(out, {.ctx = mine});
    std::vector<clock_record> records;
    ASSERT_TRUE(eventually([&] { // the first ones come half a second apart
        for (const clock_record& record : in.take_clock_records())
            records.push_back(record);
        return records.size() >= 3;
    }));
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].number, records[0].number + i);
        EXPECT_LE(std::abs(records[i].offset_s), records[i].uncertainty_s);
        EXPECT_FALSE(records[i].reset);
        EXPECT_LE(records[i].local_s, local_clock());
        if (i > 0) {
            EXPECT_GT(records[i].local_s, records[i - 1].local_s);
        }
    }
    EXPECT_LE(late.take_clock_records().size(), 2u) << "who comes late begins with the latest";
}

TEST_P(Service, AnOutletThatIsGoneDoesNotAnswer) {
    auto out = std::make_unique<outlet>(serve(counter()));
    const inlet in = connect(*out);
    out.reset();
    EXPECT_FALSE(in.remote_stats(patience));
    EXPECT_FALSE(in.time_correction(1ms));
}

TEST_P(Service, NothingIsAskedOfAClosedInlet) {
    const outlet out = serve(counter());
    inlet in = connect(out);
    in.close();
    refusal(errc::closed, [&] { (void)in.remote_stats(patience); });
    refusal(errc::closed, [&] { (void)in.time_correction(patience); });
    refusal(errc::closed, [&] { (void)in.take_clock_records(); });
}

} // namespace
} // namespace rivulet::contract
