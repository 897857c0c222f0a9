// reset_uid: an outlet begins another segment, over the connections that it has.
#include "contract.hpp"

namespace rivulet::contract {
namespace {

class Segments : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Segments, ::testing::ValuesIn(links::all), links::name_of);

/// Pulls samples `first` to before `end` of one segment: values are `offset` + their sequence numbers.
void expect_segment(inlet& in, std::uint64_t first, std::uint64_t end, bool is_new, std::int64_t offset = 0) {
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    for (std::uint64_t next = first; next < end;) {
        const pull_result got = in.pull_chunk(values, stamps, patience, end - next);
        ASSERT_TRUE(got) << "nothing after sample " << next;
        ASSERT_EQ(got.first_sequence, next);
        ASSERT_EQ(got.lost_before, 0u);
        ASSERT_EQ(got.new_segment, is_new && next == first) << next;
        for (const std::int64_t value : values)
            ASSERT_EQ(value, static_cast<std::int64_t>(next++) + offset);
    }
}

TEST_P(Segments, AResetBeginsANewOneWithNumbersFromZero) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve(counter(), {.mode = mode});
        inlet in = connect(out);
        const std::string before = out.info().uid;
        out.push_chunk(counting(0, 100));
        expect_segment(in, 0, 100, false);
        out.reset_uid();
        EXPECT_NE(out.info().uid, before);
        out.push_chunk(counting(1000, 50));
        expect_segment(in, 0, 50, true, 1000);
        EXPECT_EQ(in.info().uid, out.info().uid);
        out.push_chunk(counting(1050, 50));
        expect_segment(in, 50, 100, false, 1000);
        EXPECT_EQ(in.stats().reconnects, 0u);
        EXPECT_EQ(in.stats().lost, 0u);
        EXPECT_EQ(out.consumer_count(), 1u);
        EXPECT_EQ(out.stats().pushed, 200u);
        out.stop();
        std::int64_t value = 0;
        double stamp = 0;
        const pull_result ended = in.pull_sample(value, stamp, patience);
        EXPECT_EQ(ended.status, pull_status::ended);
        EXPECT_EQ(ended.first_sequence, 100u);
        EXPECT_EQ(ended.lost_before, 0u);
    }
}

TEST_P(Segments, WhoLagsGetsTheRestOfTheOneBeforeFirst) {
    outlet out = serve(counter());
    inlet in = connect(out);
    for (int i = 0; i < 3; ++i) {
        out.push_chunk(counting(0, 100'000));
        out.reset_uid();
    }
    out.push_chunk(counting(0, 10));
    for (int i = 0; i < 3; ++i)
        expect_segment(in, 0, 100'000, i > 0);
    expect_segment(in, 0, 10, true);
    EXPECT_EQ(in.info().uid, out.info().uid);
}

TEST_P(Segments, TheNewInfoComesWithoutASample) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve(counter(), {.mode = mode});
        const inlet in = connect(out);
        for (int i = 0; i < 5; ++i) {
            out.reset_uid();
            EXPECT_TRUE(eventually([&] { return in.info().uid == out.info().uid; })) << i;
        }
    }
}

TEST_P(Segments, OneThatRepeatsAnotherHasItsNumbersAndOrigin) {
    stream_info info = counter();
    info.origin = "first";
    info.relays = {"a-relay"};
    outlet out = serve(info, {.first_sequence = 1000});
    inlet in = connect(out);
    EXPECT_EQ(in.next_sequence(), 1000u);
    EXPECT_EQ(in.info().origin, "first");
    EXPECT_EQ(in.info().relays, std::vector<std::string>{"a-relay"});
    out.push_chunk(counting(1000, 50));
    expect_segment(in, 1000, 1050, false);
    EXPECT_EQ(in.next_sequence(), 1050u);

    info.origin = "second";
    info.desc.child("room").value("12");
    out.begin_segment(info, 70);
    EXPECT_TRUE(eventually([&] { return in.info().origin == "second"; }));
    out.push_chunk(counting(70, 30));
    expect_segment(in, 70, 100, true);
    EXPECT_EQ(in.info().desc.value_at("room"), "12");
    inlet all = connect(out, {.start = start_at::all_history()});
    expect_segment(all, 70, 100, false);
    info.nominal_rate_hz += 1;
    EXPECT_THROW(out.begin_segment(info, 0), error) << "another rate is another stream";
}

TEST_P(Segments, NumbersLeftOutAreLostForEverybody) {
    outlet out = serve(counter());
    if (GetParam().name == "inproc") {
        EXPECT_THROW(out.skip_to(10), error);
        return;
    }
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    out.skip_to(100);
    out.skip_to(150);
    out.push_chunk(counting(150, 10));
    EXPECT_THROW(out.skip_to(159), error) << "160 is next";
    out.skip_to(160);
    out.push_chunk(counting(160, 10));
    inlet late = connect(out, {.start = start_at::all_history()});
    out.skip_to(200);
    out.stop();
    for (inlet* one : {&in, &late}) {
        const auto got = pull<std::int64_t>(*one);
        EXPECT_EQ(got.samples, 30u);
        EXPECT_EQ(got.lost, 140u + 30u);
        EXPECT_EQ(got.lost_at_end, 30u);
        EXPECT_TRUE(got.ended);
        for (std::size_t i = 0; i < got.values.size(); ++i)
            ASSERT_EQ(got.values[i], static_cast<std::int64_t>(got.sequences[i]));
    }
}

TEST_P(Segments, EmptyOnesLeaveNoTrace) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    for (int i = 0; i < 1000; ++i)
        out.reset_uid();
    out.push_chunk(counting(0, 10));
    expect_segment(in, 0, 10, false);
    expect_segment(in, 0, 10, true);
}

TEST_P(Segments, TheHistoryBeforeIsNotForThoseWhoComeLater) {
    outlet out = serve(counter());
    out.push_chunk(counting(0, 100));
    out.reset_uid();
    out.push_chunk(counting(0, 10));
    inlet all = connect(out, {.start = start_at::all_history()});
    inlet recent = connect(out, {.start = start_at::last(1h)});
    inlet fresh = connect(out);
    EXPECT_EQ(all.info().uid, out.info().uid);
    out.push_chunk(counting(10, 5));
    expect_segment(all, 0, 15, false);
    expect_segment(recent, 0, 15, false);
    expect_segment(fresh, 10, 15, false);
}

TEST_P(Segments, SeveralConsumersAreTold) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve(counter(), {.mode = mode});
        std::vector<inlet> inlets;
        for (int i = 0; i < 4; ++i)
            inlets.push_back(connect(out));
        for (int segment = 0; segment < 5; ++segment) {
            out.push_chunk(counting(0, 1000));
            for (inlet& in : inlets)
                expect_segment(in, 0, 1000, segment > 0);
            out.reset_uid();
        }
    }
}

TEST_P(Segments, RequestsGoOnAcrossThem) {
    outlet out = serve(counter());
    out.on_control([](const control_request& q) { return control_reply{.data = q.data}; });
    inlet in = connect(out);
    for (int i = 0; i < 10; ++i) {
        const auto reply = in.send_control({}, {.timeout = patience});
        ASSERT_TRUE(reply);
        EXPECT_EQ(reply->status, control_status::done) << reply->text;
        ASSERT_TRUE(in.remote_stats(patience));
        out.reset_uid(); // the inlet may not know yet when it asks again
        EXPECT_TRUE(eventually([&] { return in.info().uid == out.info().uid; }));
    }
}

TEST_P(Segments, StringsHaveThemToo) {
    outlet out = serve(numbers(channel_format::string));
    inlet in = connect(out);
    std::string text;
    double stamp = 0;
    for (int i = 0; i < 3; ++i) {
        out.push_sample("a" + std::to_string(i));
        out.push_sample("b" + std::to_string(i));
        out.reset_uid();
    }
    for (int i = 0; i < 3; ++i) {
        const pull_result a = in.pull_sample(text, stamp, patience);
        EXPECT_EQ(text, "a" + std::to_string(i));
        EXPECT_EQ(a.first_sequence, 0u);
        EXPECT_EQ(a.new_segment, i > 0);
        const pull_result b = in.pull_sample(text, stamp, patience);
        EXPECT_EQ(text, "b" + std::to_string(i));
        EXPECT_EQ(b.first_sequence, 1u);
        EXPECT_FALSE(b.new_segment);
    }
}

TEST_P(Segments, AHoldingConsumerLosesNothing) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = forever});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    background producer([&] {
        for (int i = 0; i < 4; ++i) {
            for (std::uint64_t first = 0; first < 400'000; first += 10'000)
                out.push_chunk(counting(first, 10'000));
            out.reset_uid();
        }
    });
    for (int i = 0; i < 4; ++i)
        expect_segment(in, 0, 400'000, i > 0);
    producer.join();
}

TEST_P(Segments, ResetsBesidePushesFromAnotherThreadAreWhole) {
    outlet out = serve(counter());
    inlet in = connect(out);
    std::atomic<bool> done{false};
    background resetter([&] {
        while (!done)
            out.reset_uid();
    });
    std::uint64_t samples = 0;
    for (int i = 0; i < 2000; ++i)
        out.push_sample(std::int64_t{i});
    done = true;
    resetter.join();
    std::int64_t value = 0;
    double stamp = 0;
    std::uint64_t next = 0;
    while (samples < 2000) {
        const pull_result got = in.pull_sample(value, stamp, patience);
        ASSERT_TRUE(got);
        ASSERT_EQ(value, static_cast<std::int64_t>(samples++));
        ASSERT_EQ(got.first_sequence, got.new_segment ? 0 : next) << samples;
        next = got.first_sequence + 1;
    }
    EXPECT_EQ(in.stats().lost, 0u);
}

TEST_P(Segments, AClosedOutletBeginsNone) {
    outlet out = serve(counter());
    out.stop();
    refusal(errc::closed, [&] { out.reset_uid(); });
}

} // namespace
} // namespace rivulet::contract
