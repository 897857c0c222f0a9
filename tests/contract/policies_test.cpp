// What happens when somebody is too slow: who loses, what is counted, who is not disturbed, how much memory it takes.
#include "contract.hpp"
#include "memory.hpp"

namespace rivulet::contract {
namespace {

class Policies : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Policies, ::testing::ValuesIn(links::all), links::name_of);

constexpr std::uint64_t chunk_samples = 8192; // 64 KiB of int64, 128 KiB with their stamps

void push_chunks(outlet& out, std::uint64_t first_chunk, std::uint64_t chunks) {
    for (std::uint64_t i = first_chunk; i < first_chunk + chunks; ++i)
        out.push_chunk(counting(i * chunk_samples, chunk_samples));
}

// Links within a process may serve from the outlet's own log, so that both sides' buffers are given where it matters
// how much is kept.

TEST_P(Policies, ASlowInletLosesItsOldestAndCountsThemExactly) {
    outlet out = serve(counter(), {.buffer = MiB});
    inlet in = connect(out, {.max_buffered = MiB});
    push_chunks(out, 0, 500); // 32 MiB
    out.stop();
    const auto all = follow(in, everything, 1000);
    EXPECT_TRUE(all.ended);
    EXPECT_GT(all.lost, 0u);
    EXPECT_GT(all.samples, 0u);
    EXPECT_EQ(all.samples + all.lost, 500 * chunk_samples);
    EXPECT_TRUE(all.right);
    EXPECT_EQ(all.next, 500 * chunk_samples) << "the newest must be kept";
    EXPECT_EQ(in.stats().lost, all.lost);
    EXPECT_EQ(in.stats().pulled, all.samples);
}

TEST_P(Policies, BuffersBoundWhatIsKeptForAnInlet) {
    outlet out = serve(counter(), {.buffer = 2 * MiB});
    inlet in = connect(out, {.max_buffered = 2 * MiB});
    push_chunks(out, 0, 500);
    out.stop();
    const auto all = follow(in);
    EXPECT_LE(all.samples * sizeof(std::int64_t), 2 * MiB + MiB) << "the buffer and one segment";
    EXPECT_EQ(all.samples + all.lost, 500 * chunk_samples);
}

TEST_P(Policies, DurationsBoundWhatIsKeptForAnInletToo) {
    outlet out = serve(numbers(channel_format::int64, 1000, 1000.0), // 8 MB/s
                       {.buffer = std::chrono::nanoseconds(500ms)});
    inlet in = connect(out, {.max_buffered = std::chrono::nanoseconds(500ms)});
    const auto second = counting(0, 1000, 1000);
    for (int i = 0; i < 8; ++i)
        out.push_chunk(second);
    out.stop();
    const auto all = pull<std::int64_t>(in);
    EXPECT_GT(all.samples, 0u);
    EXPECT_EQ(all.samples + all.lost, 8000u);
    EXPECT_LE(all.samples, 500u + 250u) << "half a second and one segment";
}

TEST_P(Policies, TheOutletsBufferBoundsWhatAStuckConsumerGetsLater) {
    outlet out = serve(counter(), {.buffer = 2 * MiB});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    push_chunks(out, 0, 1500); // 96 MiB: more than all buffers on the way
    out.push_chunk(counting(1500 * chunk_samples, 1));
    const auto all = follow(in, 1500 * chunk_samples + 1);
    EXPECT_GT(all.lost, 0u);
    EXPECT_EQ(all.samples + all.lost, 1500 * chunk_samples + 1);
    EXPECT_TRUE(all.right);
    EXPECT_EQ(all.next, 1500 * chunk_samples + 1);

    // Once caught up, nothing more is lost.
    for (std::uint64_t i = 1500 * chunk_samples + 1; i < 1500 * chunk_samples + 200; ++i) {
        out.push_sample(static_cast<std::int64_t>(i));
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), i, i + 1));
    }
}

TEST_P(Policies, LossesAtTheTailAreToldWithTheEnd) {
    outlet out = serve(counter(), {.buffer = 2 * MiB, .linger = 50ms});
    // The connection is closed: that is news, also long before silence would be.
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB, .lost_after = 1h, .recover_for = 0s});
    push_chunks(out, 0, 1500);
    out.stop();
    try {
        const tally all = follow(in);
        EXPECT_TRUE(all.ended);
        EXPECT_EQ(all.samples + all.lost, 1500 * chunk_samples);
        EXPECT_TRUE(all.right);
    } catch (const stream_lost&) {
        // The end could not reach a consumer that did not read within linger: then that is what it is told.
    }
}

TEST_P(Policies, LostStringsAreCountedExactlyToo) {
    outlet out = serve(numbers(channel_format::string), {.buffer = MiB});
    inlet in = connect(out, {.max_buffered = MiB});
    const std::uint64_t samples = 50'000; // 10 MB
    for (std::uint64_t i = 0; i < samples; ++i)
        out.push_sample(std::to_string(i) + std::string(200, 'x'));
    out.stop();
    const auto all = pull<std::string>(in, everything, 100);
    EXPECT_GT(all.lost, 0u);
    ASSERT_GT(all.samples, 0u);
    EXPECT_EQ(all.samples + all.lost, samples);
    for (std::size_t i = 0; i < all.values.size(); ++i)
        ASSERT_EQ(all.values[i], std::to_string(all.sequences[i]) + std::string(200, 'x'));
    EXPECT_EQ(all.sequences.back(), samples - 1);
}

TEST_P(Policies, HoldWithAWaitingOutletLosesNothing) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = 2 * MiB, .send_timeout = patience});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    background producer([&] {
        push_chunks(out, 0, 1500); // 96 MiB: more than all buffers on the way
        out.stop(patience);
    });
    EXPECT_TRUE(producer.blocked());
    EXPECT_TRUE(holds_exactly(follow(in, everything, 5000), 0, 1500 * chunk_samples));
    producer.join();
}

TEST_P(Policies, HoldLosesNothingOfWhatComesWhileTheInletOpens) {
    config settings;
    settings.tuning.keepalive = 10min; // nothing but the samples themselves may keep the stream going
    settings.tuning.watchdog = 20min;
    const context calm{settings};
    const buffer_size small = std::size_t{8} << 10;
    for (int round = 0; round < 30; ++round) {
        outlet out = serve(counter(), {.full = on_full::wait, .buffer = small, .ctx = calm});
        background producer([&] {
            out.wait_for_consumers(forever);
            for (std::uint64_t i = 0; i < 20; ++i)
                out.push_chunk(counting(i * 500, 500));
            out.stop(patience);
        });
        inlet in = connect(out, {.full = when_full::hold, .max_buffered = small, .ctx = calm});
        const auto all = follow(in);
        EXPECT_TRUE(holds_exactly(all, 0, 10'000));
        EXPECT_TRUE(all.ended);
        producer.join();
    }
}

TEST_P(Policies, AWaitingOutletIsPacedByTheSlowestOfItsConsumers) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = patience});
    std::vector<inlet> inlets;
    for (int i = 0; i < 3; ++i)
        inlets.push_back(connect(out, {.full = when_full::hold, .max_buffered = MiB}));
    std::array<tally, 3> tallies;
    std::vector<std::unique_ptr<background>> pullers;
    for (std::size_t i = 0; i < 3; ++i)
        pullers.push_back(
            std::make_unique<background>([&, i] { tallies[i] = follow(inlets[i], everything, i == 0 ? 50 : 5000); }));
    push_chunks(out, 0, 300);
    out.stop(patience);
    for (auto& puller : pullers)
        puller->join();
    for (const tally& all : tallies)
        EXPECT_TRUE(holds_exactly(all, 0, 300 * chunk_samples));
}

TEST_P(Policies, LatestReturnsTheNewestSample) {
    outlet out = serve(counter());
    inlet in = connect(out, {.full = when_full::latest});
    out.push_chunk(counting(0, 1000));
    out.push_chunk(counting(1000, 1000));
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    std::uint64_t next = 0, lost = 0;
    while (next < 2000) {
        const pull_result got = in.pull_chunk(values, stamps, patience);
        ASSERT_TRUE(got);
        ASSERT_EQ(got.samples, 1u);
        ASSERT_EQ(got.first_sequence, next + got.lost_before);
        ASSERT_EQ(values.at(0), static_cast<std::int64_t>(got.first_sequence));
        lost += got.lost_before;
        next = got.first_sequence + 1;
    }
    EXPECT_EQ(next, 2000u);
    EXPECT_GE(lost, 1998u) << "each chunk is seen as its newest sample only";
    EXPECT_FALSE(in.pull_chunk(values, stamps, 0ms));
    for (std::int64_t i = 2000; i < 2100; ++i) { // who keeps up misses nothing
        out.push_sample(i);
        ASSERT_TRUE(in.pull_chunk(values, stamps, patience));
        ASSERT_EQ(values.at(0), i);
    }
}

TEST_P(Policies, LatestStillGivesTheLastSampleBeforeTheEnd) {
    outlet out = serve(counter());
    inlet in = connect(out, {.full = when_full::latest});
    out.push_chunk(counting(0, 1000));
    out.stop();
    const auto all = pull<std::int64_t>(in);
    ASSERT_GT(all.samples, 0u);
    EXPECT_EQ(all.sequences.back(), 999u);
    EXPECT_EQ(all.samples + all.lost, 1000u);
    EXPECT_TRUE(all.ended);
}

/// A consumer that never pulls, with each of the policies an inlet has, beside two that do.
void stuck_consumer_costs_the_others_nothing(const links::link& link, const outlet_options& options) {
    for (const when_full full : {when_full::hold, when_full::drop_oldest, when_full::latest}) {
        SCOPED_TRACE(static_cast<int>(full));
        outlet out = serve_at(link.any(), counter(), options);
        inlet stuck = connect(out, {.full = full, .max_buffered = MiB});
        inlet first = connect(out);
        inlet second = connect(out);
        // 64 MiB, or, where a sanitizer makes each sample slow, still more than all buffers hold.
        for (std::uint64_t i = 0; i < (support::sanitized ? 400 : 1000); ++i) {
            push_chunks(out, i, 1);
            const std::uint64_t from = i * chunk_samples;
            ASSERT_TRUE(holds_exactly(follow(first, chunk_samples), from, from + chunk_samples));
            ASSERT_TRUE(holds_exactly(follow(second, chunk_samples), from, from + chunk_samples));
        }
    }
}

TEST_P(Policies, AConsumerThatNeverPullsCostsTheOthersNothing) {
    stuck_consumer_costs_the_others_nothing(GetParam(), {.buffer = 4 * MiB});
}

TEST_P(Policies, AConsumerThatNeverPullsCostsTheOthersNothingInSyncMode) {
    stuck_consumer_costs_the_others_nothing(GetParam(), {.mode = delivery::sync, .send_timeout = 1s});
}

TEST_P(Policies, AStuckConsumerIsWaitedForOnceAndNoLonger) {
    // Long enough that the other one gets ahead within it however busy the machine is.
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = 2 * MiB, .send_timeout = 5s});
    inlet stuck = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    inlet healthy = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    tally all;
    background puller([&] { all = follow(healthy, 3000 * chunk_samples); });
    // 188 MiB. Were it waited for at every full log, this would take minutes and end by the watchdog.
    push_chunks(out, 0, 3000);
    puller.join();
    EXPECT_TRUE(holds_exactly(all, 0, 3000 * chunk_samples));
    out.stop(0ms);
}

TEST_P(Policies, AConsumerThatCaughtUpIsWaitedForAgain) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = 5s});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    push_chunks(out, 0, 1500);
    const auto first = follow(in, 1500 * chunk_samples);
    EXPECT_GT(first.lost, 0u);
    EXPECT_EQ(first.samples + first.lost, 1500 * chunk_samples);
    tally all;
    background puller([&] { all = follow(in, everything, 2000); });
    push_chunks(out, 1500, 500);
    out.stop(patience);
    puller.join();
    EXPECT_TRUE(holds_exactly(all, 1500 * chunk_samples, 2000 * chunk_samples));
}

TEST_P(Policies, MemoryStaysBoundedWhateverAConsumerDoes) {
    outlet out = serve(counter(), {.buffer = 4 * MiB});
    inlet held = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    inlet dropping = connect(out, {.max_buffered = MiB});
    inlet latest = connect(out, {.full = when_full::latest, .max_buffered = MiB});
    push_chunks(out, 0, 800); // everything that is taken once is taken
    const support::memory_mark before;
    push_chunks(out, 800, 8000); // 512 MiB
    EXPECT_TRUE(before.grew_at_most(64 * MiB));
}

TEST_P(Policies, AnUnusedBufferTakesNoMemory) {
    const support::memory_mark before;
    outlet out = serve(numbers(channel_format::float64, 1000, 30'000), {.buffer = std::size_t{1} << 30});
    inlet in = connect(out, {.max_buffered = std::size_t{1} << 30});
    EXPECT_TRUE(before.grew_at_most(32 * MiB));
}

TEST_P(Policies, NoConsumerNoWaiting) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = forever});
    push_chunks(out, 0, 500);
    { inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB}); }
    push_chunks(out, 500, 500);
    EXPECT_EQ(out.stats().pushed, 1000 * chunk_samples);
}

TEST_P(Policies, AConsumerThatLeavesReleasesAWaitingPush) {
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = forever});
    auto in = std::make_unique<inlet>(connect(out, {.full = when_full::hold, .max_buffered = MiB}));
    background producer([&] { push_chunks(out, 0, 1500); });
    EXPECT_TRUE(producer.blocked());
    in.reset();
    producer.join();
}

} // namespace
} // namespace rivulet::contract
