// delivery::sync: push sends from the caller's memory and does not touch it once it returned.
#include "contract.hpp"

#include <condition_variable>
#include <mutex>
#include <sys/mman.h>

namespace rivulet::contract {
namespace {

class Sync : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Sync, ::testing::ValuesIn(links::all), links::name_of);

/// Pages of their own that can be taken away from everybody who still looks at them.
class pages {
public:
    explicit pages(std::size_t values) : bytes_(values * sizeof(std::int64_t)) {
        void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        data_ = static_cast<std::int64_t*>(memory);
    }
    ~pages() { ::munmap(data_, bytes_); }
    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;

    std::span<std::int64_t> values() { return {data_, bytes_ / sizeof(std::int64_t)}; }
    void forbid() { ASSERT_EQ(::mprotect(data_, bytes_, PROT_NONE), 0); }
    void allow() { ASSERT_EQ(::mprotect(data_, bytes_, PROT_READ | PROT_WRITE), 0); }

private:
    std::int64_t* data_ = nullptr;
    std::size_t bytes_;
};

/// Chunk sizes below, at and above all buffers that a link may have.
constexpr std::array<std::uint64_t, 8> chunk_sizes{1, 3, 100, 1023, 1024, 5000, 131'072, 262'144};

TEST_P(Sync, TheCallersMemoryMayBeOverwrittenAtOnce) {
    outlet out = serve(counter(), sync_mode());
    std::vector<inlet> inlets;
    for (int i = 0; i < 2; ++i)
        inlets.push_back(connect(out));
    std::uint64_t pushed = 0;
    std::vector<std::int64_t> memory(chunk_sizes.back());
    for (int round = 0; round < (support::sanitized ? 2 : 5); ++round) {
        for (const std::uint64_t samples : chunk_sizes) {
            std::iota(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(samples), pushed);
            out.push_chunk(std::span(memory).first(samples));
            std::fill(memory.begin(), memory.end(), std::int64_t{0x5A5A5A5A5A5A5A5A});
            pushed += samples;
        }
    }
    out.stop();
    for (inlet& in : inlets)
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, pushed));
}

TEST_P(Sync, TheCallersMemoryMayBeFreedAtOnce) {
    outlet out = serve(counter(), sync_mode());
    inlet in = connect(out);
    std::uint64_t pushed = 0;
    for (int round = 0; round < 5; ++round) {
        for (const std::uint64_t samples : chunk_sizes) {
            out.push_chunk(counting(pushed, samples)); // a temporary
            pushed += samples;
        }
    }
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, pushed));
}

TEST_P(Sync, TheCallersMemoryMayBecomeInaccessibleAtOnce) {
    outlet out = serve(counter(), sync_mode());
    std::vector<inlet> inlets;
    for (int i = 0; i < 2; ++i)
        inlets.push_back(connect(out));
    std::uint64_t pushed = 0;
    pages memory(chunk_sizes.back());
    for (int round = 0; round < (support::sanitized ? 4 : 20); ++round) {
        for (const std::uint64_t samples : chunk_sizes) {
            const auto chunk = memory.values().first(samples);
            std::iota(chunk.begin(), chunk.end(), pushed);
            out.push_chunk(chunk);
            memory.forbid();
            pushed += samples;
            for (inlet& in : inlets)
                ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, samples), pushed - samples, pushed));
            memory.allow();
        }
    }
}

TEST_P(Sync, GivenStampsAreTheCallersMemoryToo) {
    outlet out = serve(counter(), sync_mode());
    inlet in = connect(out);
    std::vector<double> expected;
    pages memory(5000);
    std::vector<double> stamps(5000);
    for (std::uint64_t round = 0; round < 20; ++round) {
        std::iota(memory.values().begin(), memory.values().end(), round * 5000);
        for (double& stamp : stamps)
            stamp = 1.0 / static_cast<double>(1 + expected.size() + static_cast<std::size_t>(&stamp - stamps.data()));
        expected.insert(expected.end(), stamps.begin(), stamps.end());
        out.push_chunk(memory.values(), stamps);
        std::fill(stamps.begin(), stamps.end(), -1.0);
        std::fill(memory.values().begin(), memory.values().end(), -1);
    }
    out.stop();
    const auto all = pull<std::int64_t>(in);
    EXPECT_TRUE(holds_exactly(all, 0, 20 * 5000));
    EXPECT_TRUE(same(all.stamps, expected));
}

TEST_P(Sync, StampsAreDeducedWhenNotGiven) {
    const double rate = 250.0;
    outlet out = serve(numbers(channel_format::int64, 1, rate), sync_mode());
    inlet in = connect(out);
    out.push_chunk(counting(0, 100), 12.34);
    out.push_sample(std::int64_t{100}, 56.78);
    const double before = local_clock();
    out.push_sample(std::int64_t{101});
    const double after = local_clock();
    const auto all = pull<std::int64_t>(in, 102, 33);
    ASSERT_TRUE(holds_exactly(all, 0, 102));
    for (std::size_t i = 0; i < 100; ++i)
        ASSERT_EQ(all.stamps[i], 12.34 - static_cast<double>(99 - i) / rate);
    EXPECT_EQ(all.stamps[100], 56.78);
    EXPECT_GE(all.stamps[101], before);
    EXPECT_LE(all.stamps[101], after);
}

TEST_P(Sync, AllThatWasPushedIsPulledWhenTheOutletClosesAtOnce) {
    for (std::uint64_t round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        auto out = std::make_unique<outlet>(serve(counter(3), sync_mode()));
        inlet in = connect(*out);
        std::uint64_t pushed = 0;
        for (std::uint64_t samples = 1; samples < 300; samples += 1 + round) {
            out->push_chunk(counting(pushed, samples, 3));
            pushed += samples;
            out->push_sample(counting(pushed++, 1, 3));
        }
        out.reset();
        const auto all = pull<std::int64_t>(in);
        EXPECT_TRUE(holds_exactly(all, 0, pushed, 3));
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Sync, PushRightAfterTheInletOpenedArrives) {
    for (int connection = 0; connection < 100; ++connection) {
        SCOPED_TRACE(connection);
        outlet out = serve(counter(), sync_mode());
        inlet in = connect(out);
        out.push_sample(std::int64_t{0});
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), 0, 1));
    }
}

TEST_P(Sync, EveryPushFlushes) {
    outlet out = serve(counter(), sync_mode());
    inlet in = connect(out);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        out.push_sample(static_cast<std::int64_t>(i));
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), i, i + 1));
    }
}

TEST_P(Sync, ChunkOfEightMegabytes) {
    outlet out = serve(counter(), sync_mode());
    inlet in = connect(out, {.full = when_full::hold}); // all together are more than it keeps
    recording<std::int64_t> all;
    background puller([&] { all = pull<std::int64_t>(in, everything, 50'000); });
    for (std::uint64_t i = 0; i < 4; ++i)
        out.push_chunk(counting(i * MiB, MiB));
    out.stop();
    puller.join();
    EXPECT_TRUE(holds_exactly(all, 0, 4 * MiB));
}

TEST_P(Sync, EveryNumericFormatAndManyChannels) {
    const auto check = []<class T>(T) {
        const std::uint64_t channels = 1000;
        outlet out = serve(numbers(format_of<T>(), channels), sync_mode());
        inlet in = connect(out);
        std::vector<T> values(channels * 20);
        std::iota(values.begin(), values.end(), T{0});
        out.push_chunk(values);
        EXPECT_TRUE(same(pull<T>(in, 20).values, values));
    };
    check(float{});
    check(double{});
    check(std::int8_t{});
    check(std::int16_t{});
    check(std::int32_t{});
    check(std::int64_t{});
}

TEST_P(Sync, Blobs) {
    outlet out = serve(numbers(channel_format::blob), sync_mode());
    inlet in = connect(out);
    std::vector<std::string> expected;
    for (const std::size_t bytes : {std::size_t{5}, std::size_t{0}, 100'000ul, 3 * MiB}) {
        std::string blob(bytes, 'b');
        std::iota(blob.begin(), blob.end(), '\0');
        expected.push_back(blob);
        out.push_sample(std::as_bytes(std::span(blob)));
        std::fill(blob.begin(), blob.end(), 'x');
    }
    out.stop();
    EXPECT_TRUE(same(pull<std::string>(in).values, expected));
}

TEST_P(Sync, StringsAreRefusedAtConstruction) {
    const std::string message =
        refusal(errc::not_supported, [] { serve(numbers(channel_format::string), sync_mode()); });
    EXPECT_TRUE(mentions(message, "sync") && mentions(message, "string") && mentions(message, "async")) << message;
}

TEST_P(Sync, AnotherElementTypeIsRefusedNotReinterpreted) {
    outlet out = serve(numbers(channel_format::float32, 2), sync_mode());
    inlet in = connect(out);
    const auto refuse = [&]<class T>(T) {
        const std::vector<T> values(4);
        const std::string message = refusal(errc::format_mismatch, [&] { out.push_chunk(values); });
        EXPECT_TRUE(mentions(message, "float32") && mentions(message, to_string(format_of<T>()))) << message;
        refusal(errc::format_mismatch, [&] { out.push_sample(std::span<const T>(values).first(2)); });
        refusal(errc::format_mismatch, [&] { out.push_chunk(values, std::array{1.0, 2.0}); });
    };
    refuse(double{});
    refuse(std::int8_t{});
    refuse(std::int16_t{});
    refuse(std::int32_t{});
    refuse(std::int64_t{});
    refusal(errc::shape_mismatch, [&] { out.push_chunk(std::vector<float>(3)); });
    refusal(errc::invalid_argument,
            [&] { out.push_chunk(std::vector<float>(2), std::numeric_limits<double>::quiet_NaN()); });
    out.push_sample(std::array{1.0f, 2.0f});
    out.stop();
    EXPECT_TRUE(same(pull<float>(in).values, std::array{1.0f, 2.0f}));
}

TEST_P(Sync, PushWithoutConsumersReturns) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = forever});
    for (int i = 0; i < 100; ++i)
        out.push_chunk(counting(0, 100'000));
    EXPECT_EQ(out.stats().pushed, 100u * 100'000u);
}

TEST_P(Sync, ThereIsNoHistory) {
    outlet out = serve(counter(), sync_mode());
    out.push_chunk(counting(0, 100));
    inlet in = connect(out, {.start = start_at::all_history()});
    out.push_chunk(counting(100, 100));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 100, 200));
}

TEST_P(Sync, HoldIsLosslessEndToEnd) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = forever});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    background producer([&] {
        for (std::uint64_t i = 0; i < 800; ++i) // 64 MB: more than all buffers on the way
            out.push_chunk(counting(i * 10'000, 10'000));
        out.stop(patience);
    });
    EXPECT_TRUE(producer.blocked());
    EXPECT_TRUE(holds_exactly(follow(in, everything, 5000), 0, 8'000'000));
    producer.join();
}

TEST_P(Sync, TwoProducersAreSerialised) {
    outlet out = serve(numbers(channel_format::int64, 2), sync_mode());
    inlet in = connect(out);
    const auto produce = [&](std::int64_t who) {
        for (std::int64_t i = 0; i < 2000; ++i)
            out.push_sample(std::array{who, i});
    };
    background first([&] { produce(0); });
    background second([&] { produce(1); });
    const auto all = pull<std::int64_t>(in, 4000);
    first.join();
    second.join();
    std::array<std::int64_t, 2> next{0, 0};
    for (std::size_t i = 0; i < all.samples; ++i)
        ASSERT_EQ(all.values[2 * i + 1], next.at(static_cast<std::size_t>(all.values[2 * i]))++);
    EXPECT_EQ(next, (std::array<std::int64_t, 2>{2000, 2000}));
}

// ---- a consumer that does not take its bytes

TEST_P(Sync, AStalledConsumerIsKickedAndTheOthersStayGapFree) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = 1s});
    std::mutex mutex;
    std::vector<consumer_event> kicked;
    out.on_consumer([&](const consumer_event& event) {
        const std::lock_guard lock(mutex);
        if (event.what == consumer_event::kind::kicked)
            kicked.push_back(event);
    });
    const auto somebody_kicked = [&] {
        const std::lock_guard lock(mutex);
        return !kicked.empty();
    };
    inlet stalled = connect(out, {.name = "stalled", .full = when_full::hold, .max_buffered = MiB});
    inlet first = connect(out, {.name = "first"});
    inlet second = connect(out, {.name = "second"});
    std::uint64_t pushed = 0;
    const std::uint64_t samples = 10'000;
    const auto push_one_for_all = [&] {
        out.push_chunk(counting(pushed, samples));
        ASSERT_TRUE(holds_exactly(follow(first, samples), pushed, pushed + samples));
        ASSERT_TRUE(holds_exactly(follow(second, samples), pushed, pushed + samples));
        pushed += samples;
    };
    while (!somebody_kicked() && pushed < 100 * MiB)
        ASSERT_NO_FATAL_FAILURE(push_one_for_all());
    ASSERT_TRUE(somebody_kicked()) << "800 MB were pushed to a consumer that does not read";
    for (int i = 0; i < 20; ++i)
        ASSERT_NO_FATAL_FAILURE(push_one_for_all());
    out.on_consumer({});
    EXPECT_EQ(kicked.front().name, "stalled");
    EXPECT_EQ(kicked.front().link, out.endpoints().front());
    EXPECT_GE(out.stats().kicked, 1u);
}

TEST_P(Sync, WhatAKickedConsumerGotIsRight) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = 200ms});
    inlet stalled = connect(out, {.full = when_full::hold, .max_buffered = MiB, .lost_after = 2s});
    std::uint64_t pushed = 0;
    while (out.stats().kicked == 0 && pushed < 100 * MiB) {
        out.push_chunk(counting(pushed, 10'000));
        pushed += 10'000;
    }
    ASSERT_GE(out.stats().kicked, 1u);
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    std::uint64_t next = 0;
    try {
        while (const pull_result got = stalled.pull_chunk(values, stamps, 0ms)) {
            ASSERT_EQ(got.first_sequence, next + got.lost_before);
            ASSERT_TRUE(same(values, counting(got.first_sequence, got.samples)));
            next = got.first_sequence + got.samples;
        }
    } catch (const stream_lost&) {
        // Told so after all that had come.
    }
    EXPECT_GT(next, 0u);
    EXPECT_LE(next, pushed);
}

TEST_P(Sync, StopWakesABlockedPush) {
    for (int round = 0; round < 5; ++round) {
        outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = forever, .linger = 50ms});
        inlet stalled = connect(out, {.full = when_full::hold, .max_buffered = MiB});
        pages memory(50'000);
        background producer([&] {
            refusal(errc::closed, [&] {
                for (;;)
                    out.push_chunk(memory.values());
            });
            memory.forbid(); // the blocked push, too, waits until nobody looks at the memory any more
        });
        EXPECT_TRUE(producer.blocked());
        out.stop();
        producer.join();
        std::vector<std::int64_t> values;
        std::vector<double> stamps;
        try {
            while (stalled.pull_chunk(values, stamps, 0ms)) {
            }
        } catch (const stream_lost&) {
        }
    }
}

TEST_P(Sync, ABlockedPushDoesNotBlockWhoAsks) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = forever, .linger = 50ms});
    inlet stalled = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    background producer([&] {
        refusal(errc::closed, [&] {
            for (;;)
                out.push_chunk(counting(0, 50'000));
        });
    });
    EXPECT_TRUE(producer.blocked());
    EXPECT_TRUE(out.has_consumers());
    EXPECT_EQ(out.consumer_count(), 1u);
    EXPECT_TRUE(out.wait_for_consumers(0ms));
    EXPECT_GT(out.stats().pushed, 0u);
    EXPECT_FALSE(out.endpoints().empty());
    out.stop();
    producer.join();
}

TEST_P(Sync, AConsumerThatLeavesReleasesABlockedPush) {
    outlet out = serve(counter(), {.mode = delivery::sync, .send_timeout = forever});
    auto stalled = std::make_unique<inlet>(connect(out, {.full = when_full::hold, .max_buffered = MiB}));
    background producer([&] {
        for (int i = 0; i < 300; ++i) // 120 MB: more than all buffers on the way
            out.push_chunk(counting(0, 50'000));
    });
    EXPECT_TRUE(producer.blocked());
    stalled.reset();
    producer.join();
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
}

} // namespace
} // namespace rivulet::contract
