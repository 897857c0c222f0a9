// Looking before pulling: flush, samples_available, zero-copy views, file descriptors, many inlets in one thread.
#include "contract.hpp"

#include <fstream>
#include <poll.h>

namespace rivulet::contract {
namespace {

class Views : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Views, ::testing::ValuesIn(links::all), links::name_of);

bool readable(const inlet& in, int timeout_ms) {
    pollfd entry{in.wait_fd(), POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN);
}
constexpr int patience_ms = std::chrono::milliseconds(patience).count();

/// Pulls with timeout 0 until nothing is there, as an event loop does; appends the values.
pull_status drain(inlet& in, std::vector<std::int64_t>& to) {
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    for (;;) {
        const pull_result got = in.pull_chunk(values, stamps, 0ms);
        if (!got)
            return got.status;
        EXPECT_EQ(got.lost_before, 0u);
        to.insert(to.end(), values.begin(), values.end());
    }
}

// ---- timeouts

TEST_P(Views, AnEmptyInletTimesOut) {
    outlet out = serve(counter());
    inlet in = connect(out);
    std::vector<std::int64_t> values(4);
    std::vector<double> stamps(4);
    std::int64_t value = 0;
    double stamp = 0;
    for (const auto timeout : {0ms, 20ms}) {
        EXPECT_EQ(in.pull_chunk(std::span(values), stamps, timeout).status, pull_status::timeout);
        EXPECT_EQ(in.pull_sample(value, stamp, timeout).status, pull_status::timeout);
        EXPECT_EQ(in.pull_view(timeout).result().status, pull_status::timeout);
        EXPECT_EQ(in.pull_chunk(values, stamps, timeout).samples, 0u);
        EXPECT_TRUE(values.empty() && stamps.empty());
        values.resize(4);
        stamps.resize(4);
    }
}

TEST_P(Views, APullReturnsAsSoonAsThereIsOneSample) {
    outlet out = serve(counter());
    inlet in = connect(out);
    std::vector<std::int64_t> values(1000);
    pull_result got;
    background puller([&] { got = in.pull_chunk(std::span(values), {}, forever); });
    EXPECT_TRUE(puller.blocked());
    out.push_sample(std::int64_t{0});
    puller.join();
    EXPECT_EQ(got.samples, 1u);
    EXPECT_EQ(got.first_sequence, 0u);
}

TEST_P(Views, ABusyPollingPullGetsTheSame) {
    outlet out = serve(counter());
    inlet in = connect(out, {.busy_poll = 50us});
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_FALSE(in.pull_sample(value, stamp, 1ms));
    for (std::uint64_t i = 0; i < 200; ++i) {
        out.push_sample(static_cast<std::int64_t>(i));
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), i, i + 1));
    }
}

// ---- samples_available and flush

TEST_P(Views, SamplesAvailableIsWhatPullsWouldReturn) {
    outlet out = serve(counter(2));
    inlet in = connect(out);
    EXPECT_EQ(in.samples_available(), 0u);
    out.push_chunk(counting(0, 100, 2));
    EXPECT_TRUE(eventually([&] { return in.samples_available() == 100; }));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 30), 0, 30, 2));
    EXPECT_EQ(in.samples_available(), 70u);
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 70), 30, 100, 2));
    EXPECT_EQ(in.samples_available(), 0u);
}

TEST_P(Views, FlushedSamplesAreGoneAndNotLost) {
    outlet out = serve(counter());
    inlet in = connect(out);
    EXPECT_EQ(in.flush(), 0u);
    out.push_chunk(counting(0, 100));
    ASSERT_TRUE(eventually([&] { return in.samples_available() == 100; }));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 10), 0, 10));
    EXPECT_EQ(in.flush(), 90u);
    EXPECT_EQ(in.samples_available(), 0u);
    out.push_chunk(counting(100, 100));
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    const pull_result got = in.pull_chunk(values, stamps, patience);
    EXPECT_EQ(got.first_sequence, 100u);
    EXPECT_EQ(got.lost_before, 0u);
    EXPECT_EQ(in.stats().lost, 0u);
}

TEST_P(Views, OutletFlushMeansHandedToEveryConnection) {
    outlet out = serve(counter());
    EXPECT_TRUE(out.flush(0ms)) << "nothing was pushed";
    std::vector<inlet> inlets;
    for (int i = 0; i < 3; ++i)
        inlets.push_back(connect(out));
    for (std::uint64_t i = 0; i < 100; ++i)
        out.push_chunk(counting(i * 1000, 1000));
    background flusher([&] { EXPECT_TRUE(out.flush(patience)); });
    for (inlet& in : inlets)
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 100'000), 0, 100'000));
    flusher.join();
    EXPECT_TRUE(out.flush(0ms));
    EXPECT_EQ(out.stats().sent, 3u * 100'000u);
    for (const consumer_stats& consumer : out.stats().current)
        EXPECT_EQ(consumer.lag, 0u);
}

/// An outlet with far more pushed than a consumer takes that does not pull.
class Flush : public promises {
protected:
    static constexpr std::uint64_t pushed = 5'000'000;
    outlet out = serve(counter(), {.buffer = 128 * MiB, .linger = 50ms});
    inlet stuck = connect(out, {.full = when_full::hold, .max_buffered = MiB});

    void push_all() {
        for (std::uint64_t i = 0; i < pushed; i += 10'000) // 40 MB, 80 MB with the stamps
            out.push_chunk(counting(i, 10'000));
    }
    static std::uint64_t switches(pid_t thread) {
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
        for (std::string key; file >> key;)
            if (std::uint64_t count = 0; key == "voluntary_ctxt_switches:" && file >> count)
                return count;
        return 0;
    }
};
INSTANTIATE_TEST_SUITE_P(Over, Flush, ::testing::ValuesIn(links::all), links::name_of);

TEST_P(Flush, GivesUpOnAStuckConsumer) {
    push_all();
    EXPECT_FALSE(out.flush(50ms));
    tally all;
    background puller([&] { all = follow(stuck, pushed); });
    EXPECT_TRUE(out.flush(patience));
    puller.join();
    EXPECT_TRUE(holds_exactly(all, 0, pushed));
}

TEST_P(Flush, SleepsUntilThereIsNews) {
    push_all();
    background flusher([&] { EXPECT_TRUE(out.flush(patience)); });
    ASSERT_TRUE(flusher.blocked());
    const std::uint64_t before = switches(flusher.thread);
    std::this_thread::sleep_for(300ms); // the window of the measurement: who looks every millisecond wakes 300 times
    EXPECT_LT(switches(flusher.thread) - before, 50u);
    EXPECT_TRUE(holds_exactly(follow(stuck, pushed), 0, pushed));
    flusher.join();
}

TEST_P(Flush, DoesNotWaitForAConsumerThatLeft) {
    push_all();
    background flusher([&] { EXPECT_TRUE(out.flush(forever)); });
    ASSERT_TRUE(flusher.blocked());
    stuck.close();
    flusher.join();
}

TEST_P(Flush, EndsWithTheOutlet) {
    push_all();
    background flusher([&] { EXPECT_FALSE(out.flush(forever)); });
    ASSERT_TRUE(flusher.blocked());
    out.stop();
    flusher.join();
}

// ---- views

TEST_P(Views, AViewShowsTheSamplesInPlace) {
    outlet out = serve(counter(3));
    inlet in = connect(out);
    const std::array stamps{1.0, 0.5, 7.0};
    out.push_chunk(counting(0, 3, 3), stamps);
    ASSERT_TRUE(eventually([&] { return in.samples_available() == 3; }));
    const chunk_view view = in.pull_view(patience);
    ASSERT_TRUE(view);
    EXPECT_EQ(view.result().samples, 3u);
    EXPECT_EQ(view.result().first_sequence, 0u);
    EXPECT_EQ(view.result().lost_before, 0u);
    EXPECT_TRUE(same(view.values<std::int64_t>(), counting(0, 3, 3)));
    EXPECT_TRUE(same(view.stamps(), stamps));
    EXPECT_EQ(view.bytes().size(), 9 * sizeof(std::int64_t));
    EXPECT_EQ(static_cast<const void*>(view.bytes().data()), view.values<std::int64_t>().data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.bytes().data()) % alignof(std::int64_t), 0u);
}

TEST_P(Views, ViewsCoverTheStreamExactlyOnce) {
    outlet out = serve(counter(2));
    inlet in = connect(out);
    for (std::uint64_t i = 0; i < 200; ++i)
        out.push_chunk(counting(i * 777, 777, 2));
    out.stop();
    std::uint64_t next = 0;
    for (std::size_t limit = 1;; limit = limit % 5000 + 1) {
        const chunk_view view = in.pull_view(patience, limit);
        if (!view) {
            EXPECT_EQ(view.result().status, pull_status::ended);
            break;
        }
        ASSERT_LE(view.result().samples, limit);
        ASSERT_EQ(view.result().first_sequence, next);
        ASSERT_TRUE(same(view.values<std::int64_t>(), counting(next, view.result().samples, 2)));
        ASSERT_EQ(view.stamps().size(), view.result().samples);
        next += view.result().samples;
    }
    EXPECT_EQ(next, 200u * 777u);
}

TEST_P(Views, AViewStaysValidWhateverComesAfterIt) {
    auto out = std::make_unique<outlet>(serve(counter(), {.buffer = 2 * MiB}));
    auto in = std::make_unique<inlet>(connect(*out, {.max_buffered = 2 * MiB}));
    out->push_chunk(counting(0, 1000), 4.0);
    const chunk_view first = in->pull_view(patience);
    ASSERT_TRUE(first);
    const auto values = first.values<std::int64_t>();
    const auto expected = counting(0, first.result().samples);
    const std::vector<double> stamps(first.result().samples, 4.0);
    ASSERT_TRUE(same(values, expected));
    for (std::uint64_t i = 1; i < 5000; ++i) // laps both buffers many times
        out->push_chunk(counting(i * 1000, 1000));
    EXPECT_TRUE(same(values, expected));
    out.reset();
    pull<std::int64_t>(*in);
    EXPECT_TRUE(same(values, expected));
    in.reset();
    EXPECT_TRUE(same(values, expected));
    EXPECT_TRUE(same(first.stamps(), stamps));
}

TEST_P(Views, AMovedViewKeepsItsSamples) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    chunk_view kept;
    EXPECT_FALSE(kept);
    {
        chunk_view view = in.pull_view(patience);
        kept = std::move(view);
    }
    EXPECT_TRUE(kept);
    EXPECT_TRUE(same(kept.values<std::int64_t>(), counting(0, kept.result().samples)));
}

TEST_P(Views, AViewIsNotConverted) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_sample(std::int64_t{0});
    const chunk_view view = in.pull_view(patience);
    refusal(errc::format_mismatch, [&] { view.values<float>(); });
    outlet text = serve(numbers(channel_format::string));
    inlet from_text = connect(text);
    text.push_sample("text");
    refusal(errc::not_supported, [&] { from_text.pull_view(patience); });
    std::string value;
    double stamp = 0;
    EXPECT_TRUE(from_text.pull_sample(value, stamp, patience));
    EXPECT_EQ(value, "text");
}

// ---- wait_fd

TEST_P(Views, WaitFdIsReadableWhileThereIsSomething) {
    outlet out = serve(counter());
    inlet in = connect(out);
    std::vector<std::int64_t> got;
    EXPECT_EQ(drain(in, got), pull_status::timeout);
    EXPECT_FALSE(readable(in, 0));
    for (std::int64_t round = 0; round < 200; ++round) {
        out.push_sample(round);
        ASSERT_TRUE(readable(in, patience_ms)) << round;
        ASSERT_TRUE(readable(in, 0)) << "it stays so until it is pulled";
        while (got.size() < static_cast<std::size_t>(round) + 1) {
            ASSERT_TRUE(readable(in, patience_ms)) << round;
            ASSERT_EQ(drain(in, got), pull_status::timeout);
        }
    }
    EXPECT_FALSE(readable(in, 0));
    EXPECT_TRUE(same(got, counting(0, 200)));
}

TEST_P(Views, WaitFdStaysReadableWhenPulledInPart) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 100));
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(readable(in, patience_ms)) << i;
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), i, i + 1));
    }
}

TEST_P(Views, WaitFdTellsOfTheEnd) {
    outlet out = serve(counter());
    inlet in = connect(out);
    std::vector<std::int64_t> got;
    EXPECT_EQ(drain(in, got), pull_status::timeout);
    out.stop();
    pull_status last = pull_status::timeout;
    while (last == pull_status::timeout) {
        ASSERT_TRUE(readable(in, patience_ms));
        last = drain(in, got);
    }
    EXPECT_EQ(last, pull_status::ended);
    EXPECT_TRUE(readable(in, patience_ms)) << "the end stays visible";
}

TEST_P(Views, AnEventLoopServesManyInletsWithoutLoss) {
    std::vector<outlet> outlets;
    std::vector<inlet> inlets;
    std::vector<pollfd> entries;
    for (int i = 0; i < 8; ++i) {
        outlets.push_back(serve(counter()));
        inlets.push_back(connect(outlets.back()));
        entries.push_back({inlets.back().wait_fd(), POLLIN, 0});
    }
    background producer([&] {
        for (std::uint64_t i = 0; i < 2000; ++i)
            for (outlet& out : outlets)
                out.push_chunk(counting(i * 3, 3));
        for (outlet& out : outlets)
            out.stop();
    });
    std::vector<std::vector<std::int64_t>> got(8);
    std::size_t ended = 0;
    while (ended < 8) {
        ASSERT_GT(::poll(entries.data(), entries.size(), patience_ms), 0);
        for (std::size_t i = 0; i < 8; ++i) {
            if (entries[i].fd >= 0 && (entries[i].revents & POLLIN) && drain(inlets[i], got[i]) == pull_status::ended) {
                entries[i].fd = -1;
                ++ended;
            }
        }
    }
    producer.join();
    for (const auto& values : got)
        EXPECT_TRUE(same(values, counting(0, 6000)));
}

// ---- wait_any

TEST_P(Views, WaitAnyTellsWhichInletsHaveSomething) {
    std::vector<outlet> outlets;
    std::vector<inlet> inlets;
    std::vector<inlet*> pointers;
    for (int i = 0; i < 5; ++i) {
        outlets.push_back(serve(counter()));
        inlets.push_back(connect(outlets.back()));
    }
    for (inlet& in : inlets)
        pointers.push_back(&in);
    EXPECT_TRUE(wait_any(pointers, 0ms).empty());
    EXPECT_TRUE(wait_any(pointers, 20ms).empty());
    outlets[3].push_sample(std::int64_t{0});
    EXPECT_EQ(wait_any(pointers, patience), (std::vector<std::size_t>{3}));
    outlets[1].push_sample(std::int64_t{0});
    ASSERT_TRUE(eventually([&] { return inlets[1].samples_available() == 1; }));
    EXPECT_EQ(wait_any(pointers, patience), (std::vector<std::size_t>{1, 3}));
    pull<std::int64_t>(inlets[3], 1);
    EXPECT_EQ(wait_any(pointers, patience), (std::vector<std::size_t>{1}));
    pull<std::int64_t>(inlets[1], 1);
    EXPECT_TRUE(wait_any(pointers, 0ms).empty());
    outlets[4].stop();
    EXPECT_EQ(wait_any(pointers, patience), (std::vector<std::size_t>{4}));
}

TEST_P(Views, WaitAnyIsWokenByAPush) {
    outlet quiet = serve(counter());
    outlet out = serve(counter());
    inlet from_quiet = connect(quiet);
    inlet in = connect(out);
    const std::array<inlet*, 2> both{&from_quiet, &in};
    for (std::int64_t i = 0; i < 20; ++i) {
        std::vector<std::size_t> ready;
        background waiter([&] { ready = wait_any(both, forever); });
        EXPECT_TRUE(waiter.blocked());
        out.push_sample(i);
        waiter.join();
        ASSERT_EQ(ready, (std::vector<std::size_t>{1}));
        pull<std::int64_t>(in, 1);
    }
}

TEST_P(Views, WaitAnyOverNothingReturns) { EXPECT_TRUE(wait_any({}, 0ms).empty()); }

} // namespace
} // namespace rivulet::contract
