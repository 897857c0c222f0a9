// What is pushed is what is pulled: all of it, in order, to the bit, from exactly the promised sample on.
#include "contract.hpp"

namespace rivulet::contract {
namespace {

class Delivery : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Delivery, ::testing::ValuesIn(links::all), links::name_of);

/// Pushes samples [first, end) of a counter stream in chunks of random size; a chunk of one as a single sample.
void push_counting(outlet& out, std::uint64_t first, std::uint64_t end, std::size_t largest_chunk = 2000,
                   unsigned seed = 1) {
    std::mt19937 random(seed);
    const std::uint64_t channels = out.info().channel_count;
    while (first < end) {
        const std::uint64_t samples = std::min<std::uint64_t>(1 + random() % largest_chunk, end - first);
        const auto values = counting(first, samples, channels);
        if (samples == 1)
            out.push_sample(values);
        else
            out.push_chunk(values);
        first += samples;
    }
}

TEST_P(Delivery, AllThatWasPushedIsPulledWhenTheOutletClosesAtOnce) {
    for (unsigned round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        auto out = std::make_unique<outlet>(serve(counter(3)));
        inlet in = connect(*out);
        const std::uint64_t samples = 20'000 + round;
        push_counting(*out, 0, samples, 2000, round);
        out.reset();
        const auto all = pull<std::int64_t>(in);
        EXPECT_TRUE(holds_exactly(all, 0, samples, 3));
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Delivery, AllThatWasPushedIsPulledWhileAnotherThreadPulls) {
    for (unsigned round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        auto out = std::make_unique<outlet>(serve(counter()));
        inlet in = connect(*out);
        recording<std::int64_t> all;
        background puller([&] { all = pull<std::int64_t>(in); });
        push_counting(*out, 0, 50'000, 300, round);
        out.reset();
        puller.join();
        EXPECT_TRUE(holds_exactly(all, 0, 50'000));
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Delivery, OneSampleIsEnough) {
    for (unsigned round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        auto out = std::make_unique<outlet>(serve(counter()));
        inlet in = connect(*out);
        out->push_sample(std::int64_t{0});
        out.reset();
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 1));
    }
}

TEST_P(Delivery, NothingPushedIsNothingPulled) {
    for (unsigned round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        auto out = std::make_unique<outlet>(serve(counter()));
        inlet in = connect(*out);
        out.reset();
        const auto all = pull<std::int64_t>(in);
        EXPECT_TRUE(holds_exactly(all, 0, 0));
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Delivery, PushRightAfterTheInletOpenedArrives) {
    for (int connection = 0; connection < 100; ++connection) {
        SCOPED_TRACE(connection);
        outlet out = serve(counter());
        inlet in = connect(out);
        out.push_sample(std::int64_t{0});
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), 0, 1));
    }
}

TEST_P(Delivery, PushRightAfterWaitForConsumersArrives) {
    for (int connection = 0; connection < 100; ++connection) {
        SCOPED_TRACE(connection);
        outlet out = serve(counter());
        recording<std::int64_t> all;
        background consumer([&] {
            inlet in = connect(out);
            all = pull<std::int64_t>(in, 1);
        });
        ASSERT_TRUE(out.wait_for_consumers(patience));
        out.push_sample(std::int64_t{0});
        consumer.join();
        ASSERT_TRUE(holds_exactly(all, 0, 1));
    }
}

TEST_P(Delivery, EachOfManyConnectionsToOneOutletBeginsWithTheNextPush) {
    outlet out = serve(counter());
    for (std::int64_t connection = 0; connection < 100; ++connection) {
        inlet in = connect(out);
        out.push_sample(connection);
        const auto first = static_cast<std::uint64_t>(connection);
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), first, first + 1));
    }
}

TEST_P(Delivery, SinglesChunksAndMixturesKeepTheirOrder) {
    outlet out = serve(counter(2));
    inlet in = connect(out);
    std::uint64_t pushed = 0;
    for (std::uint64_t samples = 1; samples <= 2000; samples += 37) {
        out.push_chunk(counting(pushed, samples, 2));
        pushed += samples;
        out.push_sample(counting(pushed++, 1, 2));
    }
    push_counting(out, pushed, pushed + 1000, 1);
    push_counting(out, pushed + 1000, pushed + 100'000, 2000, 7);
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, pushed + 100'000), 0, pushed + 100'000, 2));
}

TEST_P(Delivery, EmptyChunkIsNoSample) {
    outlet out = serve(counter(2));
    inlet in = connect(out);
    out.push_chunk(std::vector<std::int64_t>{});
    out.push_chunk(counting(0, 5, 2));
    out.push_chunk(std::vector<std::int64_t>{});
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 5, 2));
}

TEST_P(Delivery, ChunkOfSeveralMegabytesArrivesWhole) {
    outlet out = serve(counter(), {.buffer = 128 * MiB});
    inlet in = connect(out);
    const std::uint64_t samples = 3 * MiB; // 24 MiB of int64
    out.push_chunk(counting(0, samples));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, everything, 100'000), 0, samples));
}

TEST_P(Delivery, SampleLargerThanALogSegmentArrivesWhole) {
    const std::uint64_t channels = 400'000; // 3.2 MB a sample
    outlet out = serve(counter(channels));
    inlet in = connect(out);
    for (std::uint64_t i = 0; i < 5; ++i)
        out.push_sample(counting(i, 1, channels));
    out.push_chunk(counting(5, 3, channels));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, everything, 2), 0, 8, channels));
}

TEST_P(Delivery, ConsumersDoNotTakeFromEachOther) {
    for (std::size_t consumers = 1; consumers <= 3; ++consumers) {
        SCOPED_TRACE(consumers);
        outlet out = serve(counter());
        std::vector<inlet> inlets;
        for (std::size_t i = 0; i < consumers; ++i)
            inlets.push_back(connect(out));
        push_counting(out, 0, 100'000);
        out.stop();
        for (inlet& in : inlets) {
            const auto all = pull<std::int64_t>(in);
            EXPECT_TRUE(holds_exactly(all, 0, 100'000));
            EXPECT_TRUE(all.ended);
        }
    }
}

TEST_P(Delivery, LateConsumerGetsExactlyWhatIsPushedAfterItJoined) {
    outlet out = serve(counter());
    std::vector<inlet> inlets;
    for (std::uint64_t i = 0; i < 5; ++i) {
        push_counting(out, i * 1000, (i + 1) * 1000);
        inlets.push_back(connect(out));
    }
    push_counting(out, 5000, 6000);
    out.stop();
    for (std::uint64_t i = 0; i < 5; ++i)
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(inlets[i]), (i + 1) * 1000, 6000));
}

TEST_P(Delivery, ConsumerThatJoinsInFullFlowGetsAGapFreeTail) {
    // Both sides wait, so that nobody loses samples for want of a CPU: any gap comes from the joining.
    outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = patience});
    std::atomic<bool> stop{false};
    std::uint64_t pushed = 0;
    background producer([&] {
        for (; !stop; ++pushed)
            out.push_sample(static_cast<std::int64_t>(pushed), 1.0);
        out.stop();
    });
    std::array<tally, 10> tails;
    std::vector<std::unique_ptr<inlet>> inlets;
    std::vector<std::unique_ptr<background>> pullers;
    for (tally& tail : tails) {
        inlets.push_back(std::make_unique<inlet>(connect(out, {.full = when_full::hold, .max_buffered = MiB})));
        pullers.push_back(std::make_unique<background>([&tail, in = inlets.back().get()] { tail = follow(*in); }));
    }
    const std::uint64_t all_there = out.stats().pushed;
    EXPECT_TRUE(eventually([&] { return out.stats().pushed >= all_there + 1000; }));
    stop = true;
    producer.join();
    for (const auto& puller : pullers)
        puller->join();
    for (const tally& tail : tails) {
        EXPECT_TRUE(tail.ended);
        EXPECT_LE(tail.first, all_there);
        EXPECT_TRUE(holds_exactly(tail, tail.first, pushed));
    }
}

TEST_P(Delivery, PingPongNeverLosesAWakeUp) {
    outlet there = serve(counter());
    outlet back = serve(counter());
    inlet from_there = connect(there);
    inlet from_back = connect(back);
    const std::int64_t rounds = 5000;
    background echo([&] {
        std::int64_t value = 0;
        double stamp = 0;
        for (std::int64_t i = 0; i < rounds; ++i) {
            ASSERT_TRUE(from_there.pull_sample(value, stamp, patience));
            back.push_sample(value, stamp);
        }
    });
    for (std::int64_t i = 0; i < rounds; ++i) {
        there.push_sample(i, static_cast<double>(i));
        std::int64_t value = 0;
        double stamp = 0;
        ASSERT_TRUE(from_back.pull_sample(value, stamp, patience));
        ASSERT_EQ(value, i);
        ASSERT_EQ(stamp, static_cast<double>(i));
    }
    echo.join();
}

TEST_P(Delivery, TwoProducersOnOneOutletAreSerialised) {
    outlet out = serve(numbers(channel_format::int64, 2));
    inlet in = connect(out);
    const std::int64_t each = 50'000;
    const auto produce = [&](std::int64_t who) {
        for (std::int64_t i = 0; i < each; ++i)
            out.push_sample(std::array{who, i});
    };
    background first([&] { produce(0); });
    background second([&] { produce(1); });
    const auto all = pull<std::int64_t>(in, 2 * each);
    first.join();
    second.join();
    ASSERT_EQ(all.lost, 0u);
    std::array<std::int64_t, 2> next{0, 0};
    for (std::size_t i = 0; i < all.samples; ++i)
        ASSERT_EQ(all.values[2 * i + 1], next.at(static_cast<std::size_t>(all.values[2 * i]))++);
    EXPECT_EQ(next, (std::array{each, each}));
}

TEST_P(Delivery, ManyStreamsOfOneProcessStayApart) {
    std::vector<outlet> outlets;
    std::vector<inlet> inlets;
    for (int i = 0; i < 30; ++i) {
        outlets.push_back(serve(counter()));
        inlets.push_back(connect(outlets.back()));
    }
    for (std::uint64_t i = 0; i < outlets.size(); ++i)
        push_counting(outlets[i], 0, 100 + i, 10);
    for (std::uint64_t i = 0; i < outlets.size(); ++i) {
        outlets[i].stop();
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(inlets[i]), 0, 100 + i));
    }
}

TEST_P(Delivery, AllHistoryThenLiveWithoutASeam) {
    outlet out = serve(counter());
    push_counting(out, 0, 100'000);
    inlet in = connect(out, {.start = start_at::all_history()});
    push_counting(out, 100'000, 110'000, 100);
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 110'000));
}

TEST_P(Delivery, AllHistoryJoinsAFlowingStreamWithoutASeam) {
    outlet out = serve(counter());
    std::uint64_t pushed = 0;
    std::promise<void> all_joined;
    background producer([&, joined = all_joined.get_future().share()] {
        for (; joined.wait_for(0s) != std::future_status::ready && pushed < 2'000'000; pushed += 10)
            out.push_chunk(counting(pushed, 10), 1.0);
        joined.wait();
        out.stop();
    });
    std::vector<inlet> inlets;
    for (int i = 0; i < 5; ++i)
        inlets.push_back(connect(out, {.start = start_at::all_history()}));
    all_joined.set_value();
    producer.join();
    for (inlet& in : inlets)
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, pushed));
}

TEST_P(Delivery, SomeSecondsOfHistoryAreTheNewestOnes) {
    outlet out = serve(numbers(channel_format::int64, 1, 100.0));
    for (std::uint64_t second = 0; second < 60; ++second)
        out.push_chunk(counting(second * 100, 100), local_clock() - static_cast<double>(59 - second));
    inlet in = connect(out, {.start = start_at::last(30s)});
    out.stop();
    const auto all = pull<std::int64_t>(in);
    ASSERT_GT(all.samples, 0u);
    EXPECT_TRUE(holds_exactly(all, 6000 - all.samples, 6000));
    EXPECT_GT(all.samples, 1000u);
    EXPECT_LT(all.samples, 5000u);
}

TEST_P(Delivery, HistoryIsAsLongAsTheBuffer) {
    outlet out = serve(counter(), {.buffer = 2 * MiB});
    const std::uint64_t pushed = 4 * MiB; // 32 MiB
    push_counting(out, 0, pushed);
    inlet in = connect(out, {.start = start_at::all_history()});
    out.stop();
    const auto all = pull<std::int64_t>(in);
    EXPECT_EQ(all.lost, 0u);
    EXPECT_TRUE(values_fit_sequences(all));
    ASSERT_GT(all.samples, 0u);
    EXPECT_EQ(all.sequences.back() + 1, pushed);
    EXPECT_LE(all.samples * (sizeof(std::int64_t) + sizeof(double)), 8 * MiB);
}

} // namespace
} // namespace rivulet::contract
