// Peers that are stopped or killed: nobody else is disturbed, memory stays bounded, losses are told exactly.
#include "child_process.hpp"
#include "counter_stream.hpp"
#include "links.hpp"
#include "memory.hpp"

#include <atomic>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::child_process;
using support::chunk_samples;
using support::program_beside;
using support::push_and_pull;
using support::serve_counter;
using waiting::eventually;
using waiting::patience;

constexpr std::size_t MiB = 1u << 20;

class StoppedPeers : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, StoppedPeers, ::testing::ValuesIn(links::between_processes), links::name_of);

/// A consumer in another process, connected.
struct sink : child_process {
    explicit sink(const outlet& out, const std::string& full = "drop")
        : child_process({program_beside("test_sink"), out.endpoints().front(), full, "60000"}) {
        EXPECT_TRUE(says("connected"));
    }
};

TEST_P(StoppedPeers, AStoppedConsumerCostsTheOthersNothingAndIsToldWhatItLost) {
    outlet out = serve_counter(GetParam().any(), {.buffer = 4 * MiB, .linger = patience});
    sink stopped(out);
    inlet first(out.endpoints().front());
    inlet second(out.endpoints().front());
    ASSERT_TRUE(stopped.stop());
    std::uint64_t pushed = 0;
    while (pushed < 400 * chunk_samples) // 25 MiB: everything that is taken once is taken
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&first, &second}));
    const support::memory_mark before;
    while (pushed < 8000 * chunk_samples) // 500 MiB
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&first, &second}));
    EXPECT_TRUE(before.grew_at_most(48 * MiB));
    stopped.signal(SIGCONT);
    ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&first, &second}));
    out.stop();
    const std::string told = stopped.line();
    unsigned long long samples = 0, lost = 0;
    ASSERT_EQ(std::sscanf(told.c_str(), "ended %llu %llu", &samples, &lost), 2) << told;
    EXPECT_EQ(samples + lost, pushed);
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(stopped.exit_code(), 0);
}

TEST_P(StoppedPeers, AStoppedConsumerIsKickedInSyncModeAndTheOthersStayGapFree) {
    outlet out = serve_counter(GetParam().any(), {.mode = delivery::sync, .send_timeout = 1s});
    std::atomic<int> kicked{0};
    out.on_consumer([&](const consumer_event& event) {
        if (event.what == consumer_event::kind::kicked && event.name == "sink")
            ++kicked;
    });
    inlet first(out.endpoints().front());
    inlet second(out.endpoints().front());
    sink stopped(out);
    ASSERT_TRUE(stopped.stop());
    std::uint64_t pushed = 0;
    while (kicked == 0 && pushed < 8000 * chunk_samples)
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&first, &second}));
    EXPECT_EQ(kicked, 1) << "500 MiB were pushed to a stopped process";
    const support::memory_mark before;
    for (int i = 0; i < 2000; ++i)
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&first, &second}));
    EXPECT_TRUE(before.grew_at_most(48 * MiB));
    EXPECT_EQ(out.consumer_count(), 2u);
    EXPECT_EQ(out.stats().kicked, 1u);
    out.on_consumer({});
}

TEST_P(StoppedPeers, AStoppedConsumerDoesNotHoldAWaitingOutletForEver) {
    outlet out = serve_counter(GetParam().any(), {.full = on_full::wait, .buffer = 4 * MiB, .send_timeout = 1s});
    inlet healthy(out.endpoints().front());
    sink stopped(out, "hold");
    ASSERT_TRUE(stopped.stop());
    std::uint64_t pushed = 0;
    while (pushed < 3000 * chunk_samples) // were it waited for at every full log, this would never end
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy}));
}

TEST_P(StoppedPeers, AnOutletBesideAStoppedConsumerCloses) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out =
            serve_counter(GetParam().any(), {.mode = mode, .buffer = 4 * MiB, .send_timeout = 100ms, .linger = 100ms});
        inlet healthy(out.endpoints().front());
        sink stopped(out);
        ASSERT_TRUE(stopped.stop());
        std::uint64_t pushed = 0;
        while (pushed < 500 * chunk_samples)
            ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy}));
        out.stop();
        std::int64_t value = 0;
        double stamp = 0;
        EXPECT_EQ(healthy.pull_sample(value, stamp, patience).status, pull_status::ended);
    }
}

TEST_P(StoppedPeers, AKilledConsumerIsNoticedWithoutAPush) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve_counter(GetParam().any(), {.mode = mode});
        sink killed(out);
        EXPECT_EQ(out.consumer_count(), 1u);
        killed.signal(SIGKILL);
        EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
    }
}

TEST_P(StoppedPeers, ConsumersThatAreKilledAgainAndAgainLeaveNothingBehind) {
    outlet out = serve_counter(GetParam().any());
    inlet healthy(out.endpoints().front());
    std::uint64_t pushed = 0;
    for (int round = 0; round < 20; ++round) {
        sink killed(out);
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy}));
        killed.signal(SIGKILL);
        ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy}));
    }
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 1; }));
}

/// A publisher in another process, for inlets of this one. Its keep-alives come often, so that tests need not be long.
struct source : child_process {
    source(const std::string& at, const std::string& mode, const std::string& full, const std::string& what)
        : child_process({program_beside("test_source"), at, mode, full, what}, {"RIVULET_TUNING_KEEPALIVE=200ms"}),
          endpoint(line()) {}
    std::string endpoint;
};

TEST_P(StoppedPeers, AKilledOutletIsAStreamLostAndNotAnEnd) {
    source publisher(GetParam().any(), "async", "drop", "idle");
    inlet in(publisher.endpoint, {.lost_after = 1s});
    ASSERT_TRUE(publisher.says("connected"));
    publisher.signal(SIGKILL);
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_THROW(in.pull_sample(value, stamp, patience), stream_lost);
    EXPECT_THROW(in.pull_sample(value, stamp, patience), stream_lost) << "it stays lost";
}

TEST_P(StoppedPeers, AnOutletWithoutPowerIsAStreamLostThoughItsConnectionNeverEnds) {
    source publisher(GetParam().any(), "async", "drop", "idle");
    inlet in(publisher.endpoint, {.lost_after = 1s});
    ASSERT_TRUE(publisher.says("connected"));
    ASSERT_TRUE(publisher.stop());
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_THROW(in.pull_sample(value, stamp, patience), stream_lost);
}

TEST_P(StoppedPeers, AQuietStreamIsNotLost) {
    source publisher(GetParam().any(), "async", "drop", "idle");
    inlet in(publisher.endpoint, {.lost_after = 1s});
    ASSERT_TRUE(publisher.says("connected"));
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_EQ(in.pull_sample(value, stamp, 3s).status, pull_status::timeout);
    publisher.signal(SIGTERM);
    EXPECT_EQ(in.pull_sample(value, stamp, patience).status, pull_status::ended);
    EXPECT_EQ(publisher.exit_code(), 0);
}

} // namespace
} // namespace rivulet
