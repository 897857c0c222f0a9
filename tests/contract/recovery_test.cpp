#include "cable.hpp"
#include "contract.hpp"
#include "lab.hpp"

/// What an inlet does when the connection to its outlet ends, or the outlet falls silent.
namespace rivulet::contract {
namespace {

using support::cable;

class Recovery : public promises {
protected:
    /// Streams with a source id, as those should be that are to be found again.
    static stream_info source(std::string id = "amplifier-1", channel_format format = channel_format::int64) {
        stream_info info = numbers(format);
        info.source_id = std::move(id);
        return info;
    }
    static config without_discovery() {
        config settings = load_config(); // with the keys, where the links have some
        settings.discovery.enabled = false;
        return settings;
    }
    static inlet connect_by(const cable& through, inlet_options options = {}) {
        if (!options.max_buffered)
            options.max_buffered = 64 * MiB;
        options.open_timeout = patience;
        if (!options.ctx) // no beacon shows a way around the cable
            options.ctx = context(without_discovery());
        return inlet(through.endpoint(), std::move(options));
    }
    static void push(outlet& out, std::uint64_t& next, std::uint64_t samples) {
        for (const std::uint64_t end = next + samples; next < end;) {
            const std::uint64_t n = std::min<std::uint64_t>(1000, end - next);
            out.push_chunk(counting(next, n));
            next += n;
        }
    }
    static bool notices(const inlet& in) {
        return eventually([&] { return !in.stats().connected; });
    }
    /// The message of the stream_lost that a pull throws.
    static std::string loss_told_by(inlet& in) {
        std::int64_t value = 0;
        double stamp = 0;
        try {
            in.pull_sample(value, stamp, patience);
            ADD_FAILURE() << "nothing was thrown";
        } catch (const stream_lost& e) {
            return e.what();
        }
        return "";
    }
    static context lively() {
        config settings = without_discovery();
        settings.tuning.keepalive = 100ms;
        return context(settings);
    }
};

TEST_P(Recovery, ACutConnectionGoesOnWithoutGapAndRepeat) {
    outlet out = serve(source());
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire);
    std::uint64_t pushed = 0;
    std::uint64_t pulled = 0;
    for (int round = 0; round < 5; ++round) {
        SCOPED_TRACE(round);
        push(out, pushed, 50'000); // some of it is on its way when the connection ends
        wire.cut();
        push(out, pushed, 10'000);
        ASSERT_TRUE(notices(in));
        push(out, pushed, 10'000);
        wire.restore();
        push(out, pushed, 10'000);
        EXPECT_TRUE(holds_exactly(follow(in, pushed - pulled), pulled, pushed));
        pulled = pushed;
    }
    EXPECT_GE(in.stats().reconnects, 5u);
    EXPECT_EQ(in.stats().lost, 0u);
    out.stop();
    double stamp = 0;
    std::int64_t value = 0;
    EXPECT_EQ(in.pull_sample(value, stamp, patience).status, pull_status::ended);
}

/// The I/O thread looks after the connections while the pulling threads read the end.
TEST_P(Recovery, AnEndIsNeverTakenForALoss) {
    ::testing::internal::CaptureStderr();
    for (int round = 0; round < 10; ++round) {
        auto out = std::make_unique<outlet>(serve(counter()));
        std::vector<std::unique_ptr<inlet>> in;
        std::vector<recording<std::int64_t>> all(8);
        std::vector<std::unique_ptr<background>> pullers;
        for (auto& one : all) {
            in.push_back(std::make_unique<inlet>(out->endpoints().front(),
                                                 inlet_options{.open_timeout = patience, .recover_for = 10s}));
            pullers.push_back(
                std::make_unique<background>([&one, from = in.back().get()] { one = pull<std::int64_t>(*from); }));
        }
        std::int64_t next = 0;
        for (; next < 40 + round; ++next) {
            out->push_sample(next);
            std::this_thread::sleep_for(3ms); // so long that they look after them
        }
        out.reset();
        for (const auto& puller : pullers)
            puller->join();
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_TRUE(all[i].ended);
            EXPECT_TRUE(holds_exactly(all[i], 0, static_cast<std::uint64_t>(next)));
            std::int64_t value = 0;
            double stamp = 0;
            EXPECT_EQ(in[i]->pull_sample(value, stamp, patience).status, pull_status::ended);
        }
    }
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(mentions(told, "stream_lost")) << told;
}

TEST_P(Recovery, StringsToo) {
    outlet out = serve(source("markers", channel_format::string));
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire);
    std::vector<std::string> expected;
    const auto push_some = [&] {
        for (int i = 0; i < 3000; ++i) {
            expected.push_back(std::to_string(expected.size()) + std::string(expected.size() % 100, 'x'));
            out.push_sample(std::string_view(expected.back()));
        }
    };
    push_some();
    wire.cut();
    push_some();
    ASSERT_TRUE(notices(in));
    wire.restore();
    push_some();
    const auto all = pull<std::string>(in, expected.size());
    EXPECT_EQ(all.lost, 0u);
    EXPECT_TRUE(same(all.values, expected));
}

TEST_P(Recovery, AnInletThatHoldsLosesNothingEither) {
    outlet out = serve(source());
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire, {.full = when_full::hold, .max_buffered = MiB});
    std::uint64_t pushed = 0;
    push(out, pushed, 1'000'000); // more than it takes
    ASSERT_TRUE(eventually([&] { return in.samples_available() > 1000; }));
    wire.cut();
    push(out, pushed, 100'000);
    wire.restore();
    EXPECT_TRUE(holds_exactly(follow(in, pushed), 0, pushed));
}

TEST_P(Recovery, ACutLongerThanTheHistoryIsOneGapWithExactBounds) {
    outlet out = serve(source(), {.buffer = MiB});
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire);
    std::uint64_t pushed = 0;
    push(out, pushed, 1000);
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    wire.cut();
    ASSERT_TRUE(notices(in));
    push(out, pushed, 500'000); // 8 MB with stamps
    wire.restore();
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    std::uint64_t next = 1000;
    std::vector<std::uint64_t> gaps;
    while (next < pushed) {
        const pull_result got = in.pull_chunk(values, stamps, patience);
        ASSERT_TRUE(got);
        ASSERT_FALSE(got.new_segment);
        ASSERT_EQ(got.first_sequence, next + got.lost_before);
        ASSERT_TRUE(same(values, counting(got.first_sequence, got.samples)));
        if (got.lost_before)
            gaps.push_back(got.lost_before);
        next = got.first_sequence + got.samples;
    }
    ASSERT_EQ(gaps.size(), 1u);
    EXPECT_GT(gaps[0], 300'000u) << "the history is much shorter than that";
    EXPECT_EQ(in.stats().lost, gaps[0]);
}

TEST_P(Recovery, SyncReportsTheExactGap) {
    outlet out = serve(source(), sync_mode());
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire);
    std::uint64_t pushed = 0;
    push(out, pushed, 1000);
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    wire.cut();
    ASSERT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
    push(out, pushed, 5000);
    wire.restore();
    ASSERT_TRUE(out.wait_for_consumers(patience));
    push(out, pushed, 1000);
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    const pull_result got = in.pull_chunk(values, stamps, patience);
    EXPECT_EQ(got.lost_before, 5000u);
    EXPECT_EQ(got.first_sequence, 6000u);
    EXPECT_TRUE(same(values, counting(6000, got.samples)));
}

TEST_P(Recovery, ASilentConnectionIsReplaced) {
    const context ctx = lively();
    outlet out = serve(source(), {.ctx = ctx});
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire, {.lost_after = 1s});
    std::uint64_t pushed = 0;
    push(out, pushed, 1000);
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    wire.freeze();
    push(out, pushed, 10'000);
    ASSERT_TRUE(notices(in));
    push(out, pushed, 10'000);
    wire.restore();
    EXPECT_TRUE(holds_exactly(follow(in, 20'000), 1000, 21'000));
}

TEST_P(Recovery, SilenceEndsAPullThatWaits) {
    const context ctx = lively();
    outlet out = serve(source(), {.ctx = ctx});
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire, {.lost_after = 1s, .recover_for = 0s});
    background puller([&] {
        std::int64_t value = 0;
        double stamp = 0;
        EXPECT_THROW(in.pull_sample(value, stamp, forever), stream_lost);
    });
    EXPECT_TRUE(puller.blocked());
    wire.freeze();
    puller.join();
}

TEST_P(Recovery, AnotherOutletOfTheSameSourceIsANewSegment) {
    outlet first = serve(source());
    cable wire(first.endpoints().front());
    inlet in = connect_by(wire);
    std::uint64_t pushed = 0;
    push(first, pushed, 1000);
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    const std::string uid = in.info().uid;
    wire.cut();
    ASSERT_TRUE(notices(in));
    outlet second = serve(source());
    wire.lead_to(second.endpoints().front());
    wire.restore();
    ASSERT_TRUE(second.wait_for_consumers(patience));
    std::uint64_t again = 0;
    push(second, again, 1000);
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    pull_result got = in.pull_chunk(values, stamps, patience, 400);
    EXPECT_TRUE(got.new_segment);
    EXPECT_EQ(got.lost_before, 0u) << "what the first one had beyond is not known";
    EXPECT_EQ(got.first_sequence, 0u);
    got = in.pull_chunk(values, stamps, patience, 400);
    EXPECT_FALSE(got.new_segment) << "told once";
    EXPECT_NE(in.info().uid, uid);
}

TEST_P(Recovery, AStrangerAtTheSameEndpointIsNotTaken) {
    outlet first = serve(source());
    cable wire(first.endpoints().front());
    inlet in = connect_by(wire);
    std::uint64_t pushed = 0;
    push(first, pushed, 1000);
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    wire.cut();
    ASSERT_TRUE(notices(in));
    outlet stranger = serve(source("amplifier-2"));
    std::atomic<int> visits{0};
    stranger.on_consumer([&](const consumer_event& e) { visits += e.what == consumer_event::kind::joined; });
    wire.lead_to(stranger.endpoints().front());
    wire.restore();
    ASSERT_TRUE(eventually([&] { return visits >= 2; })) << "it looks again and again";
    stranger.push_chunk(counting(500'000, 100));
    push(first, pushed, 1000);
    wire.lead_to(first.endpoints().front());
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 1000, 2000));
    EXPECT_EQ(in.info().source_id, "amplifier-1");
}

TEST_P(Recovery, WithoutASourceIdARestartIsAStreamLost) {
    outlet first = serve(source(""));
    cable wire(first.endpoints().front());
    inlet in = connect_by(wire);
    wire.cut();
    ASSERT_TRUE(notices(in));
    outlet second = serve(source(""));
    wire.lead_to(second.endpoints().front());
    wire.restore();
    const std::string message = loss_told_by(in);
    EXPECT_TRUE(mentions(message, "source_id") && mentions(message, wire.endpoint())) << message;
}

TEST_P(Recovery, ASourceThatComesBackAsAnotherShapeIsAStreamLost) {
    outlet first = serve(source());
    cable wire(first.endpoints().front());
    inlet in = connect_by(wire);
    wire.cut();
    ASSERT_TRUE(notices(in));
    outlet second = serve(source("amplifier-1", channel_format::float32));
    wire.lead_to(second.endpoints().front());
    wire.restore();
    const std::string message = loss_told_by(in);
    EXPECT_TRUE(mentions(message, "float32") && mentions(message, "int64")) << message;
}

TEST_P(Recovery, SwitchedOffItIsAStreamLostAtOnceAfterWhatHadCome) {
    outlet out = serve(source());
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire, {.recover_for = 0s});
    std::uint64_t pushed = 0;
    push(out, pushed, 1000);
    ASSERT_TRUE(eventually([&] { return in.samples_available() == 1000; }));
    wire.cut();
    ASSERT_TRUE(notices(in));
    EXPECT_TRUE(holds_exactly(follow(in, 1000), 0, 1000));
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_THROW(in.pull_sample(value, stamp, patience), stream_lost);
    wire.restore();
    EXPECT_THROW(in.pull_sample(value, stamp, 0s), stream_lost) << "it stays lost";
}

TEST_P(Recovery, ItIsGivenUpInTheEnd) {
    outlet out = serve(source());
    cable wire(out.endpoints().front());
    inlet in = connect_by(wire, {.recover_for = 500ms});
    wire.cut();
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_THROW(in.pull_sample(value, stamp, patience), stream_lost);
}

/// 500 times, from four threads at once. Every other thread's inlets search with beacons besides, which show them a way
/// around the cable.
TEST_P(Recovery, AnInletMayGoAtAnyMomentOfIt) {
    constexpr unsigned threads = 4;
    constexpr int rounds = 125;
    support::lab here;
    here.settings.security = load_config().security;
    const auto work = [&](unsigned number) {
        std::mt19937 dice(number); // NOLINT(cert-msc51-cpp): the same rounds every time
        const std::optional<context> ctx = number % 2 ? std::optional(here.make_context()) : std::nullopt;
        outlet out = serve(source("amplifier-" + std::to_string(number)), {.ctx = ctx});
        cable wire(out.endpoints().front());
        std::uint64_t pushed = 0;
        for (int round = 0; round < rounds; ++round) {
            inlet in = connect_by(wire, {.ctx = ctx});
            push(out, pushed, 3000);
            if (dice() % 2)
                in.samples_available();
            wire.cut();
            if (dice() % 3 == 0 && !ctx) // with beacons it is connected again before that can be seen
                notices(in);
            wire.restore();
            const std::uint32_t turns = dice() % 4;
            std::int64_t value = 0;
            double stamp = 0;
            for (std::uint32_t i = 0; i < turns; ++i)
                in.pull_sample(value, stamp, std::chrono::milliseconds(dice() % 40));
        }
        EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
    };
    std::vector<std::unique_ptr<background>> at_once;
    for (unsigned number = 0; number < threads; ++number)
        at_once.push_back(std::make_unique<background>([&work, number] { work(number); }));
    for (const auto& one : at_once)
        one->join();
}

INSTANTIATE_TEST_SUITE_P(Over, Recovery, ::testing::ValuesIn(links::between_processes), links::name_of);

} // namespace
} // namespace rivulet::contract
