// Streams begin, end and begin again; whoever comes first, goes first, or is blocked in a call meanwhile.
#include "contract.hpp"

#include <csignal>
#include <pthread.h>
#include <sys/wait.h>

namespace rivulet::contract {
namespace {

class Lifecycle : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Lifecycle, ::testing::ValuesIn(links::all), links::name_of);

class LifecycleDeathTest : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, LifecycleDeathTest, ::testing::ValuesIn(links::all), links::name_of);

TEST_P(Lifecycle, TheEndIsToldAfterTheLastSampleAndAgainAndAgain) {
    auto out = std::make_unique<outlet>(serve(counter()));
    inlet in = connect(*out);
    out->push_chunk(counting(0, 1000));
    out.reset();
    const auto all = pull<std::int64_t>(in, everything, 300);
    EXPECT_TRUE(holds_exactly(all, 0, 1000));
    EXPECT_TRUE(all.ended);
    EXPECT_EQ(all.lost_at_end, 0u);
    std::int64_t value = 0;
    double stamp = 0;
    for (int i = 0; i < 3; ++i) {
        const pull_result again = in.pull_sample(value, stamp, patience);
        EXPECT_EQ(again.status, pull_status::ended);
        EXPECT_EQ(again.samples, 0u);
        EXPECT_EQ(again.lost_before, 0u);
    }
    EXPECT_FALSE(in.pull_view(patience));
    EXPECT_EQ(in.pull_view(patience).result().status, pull_status::ended);
}

TEST_P(Lifecycle, ABlockedPullIsWokenByTheEnd) {
    for (int round = 0; round < 10; ++round) {
        outlet out = serve(counter());
        inlet in = connect(out);
        recording<std::int64_t> all;
        background puller([&] { all = pull<std::int64_t>(in); });
        EXPECT_TRUE(puller.blocked());
        out.stop();
        puller.join();
        EXPECT_TRUE(all.ended);
        EXPECT_EQ(all.samples, 0u);
    }
}

TEST_P(Lifecycle, StopEndsTheStreamAsTheDestructorDoes) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    out.stop();
    out.stop();
    const std::string message = refusal(errc::closed, [&] { out.push_sample(std::int64_t{10}); });
    EXPECT_TRUE(mentions(message, "contract")) << message; // the stream's name
    refusal(errc::closed, [&] { out.push_chunk(counting(10, 5)); });
    EXPECT_FALSE(out.wait_for_consumers(patience, 5));
    const auto all = pull<std::int64_t>(in);
    EXPECT_TRUE(holds_exactly(all, 0, 10));
    EXPECT_TRUE(all.ended);
}

TEST_P(Lifecycle, AnInletMayComeBeforeItsOutlet) {
    for (int round = 0; round < 5; ++round) {
        SCOPED_TRACE(round);
        const std::string endpoint = GetParam().fixed();
        recording<std::int64_t> all;
        background consumer([&] {
            inlet in(endpoint, {.open_timeout = patience});
            all = pull<std::int64_t>(in);
        });
        EXPECT_TRUE(consumer.blocked());
        outlet out = serve_at(endpoint, counter());
        EXPECT_TRUE(out.wait_for_consumers(patience));
        out.push_chunk(counting(0, 100));
        out.stop();
        consumer.join();
        EXPECT_TRUE(holds_exactly(all, 0, 100));
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Lifecycle, ManyInletsMayComeBeforeTheirOutlet) {
    const std::string endpoint = GetParam().fixed();
    std::array<recording<std::int64_t>, 5> recordings;
    std::vector<std::unique_ptr<background>> consumers;
    for (auto& all : recordings)
        consumers.push_back(std::make_unique<background>([&all, endpoint] {
            inlet in(endpoint, {.open_timeout = patience});
            all = pull<std::int64_t>(in);
        }));
    for (auto& consumer : consumers)
        EXPECT_TRUE(consumer->blocked());
    outlet out = serve_at(endpoint, counter());
    ASSERT_TRUE(out.wait_for_consumers(patience, 5));
    out.push_chunk(counting(0, 100));
    out.stop();
    for (auto& consumer : consumers)
        consumer->join();
    for (const auto& all : recordings)
        EXPECT_TRUE(holds_exactly(all, 0, 100));
}

TEST_P(Lifecycle, AMissingOutletIsNotConnectedAndNamed) {
    const std::string endpoint = GetParam().fixed();
    const std::string message = refusal(errc::not_connected, [&] { inlet in(endpoint, {.open_timeout = 50ms}); });
    EXPECT_TRUE(mentions(message, endpoint)) << message;
    // The attempt leaves nothing behind: the endpoint can be served, and only real consumers count.
    outlet out = serve_at(endpoint, counter());
    inlet in = connect(out);
    EXPECT_EQ(out.consumer_count(), 1u);
}

TEST_P(Lifecycle, AZeroOpenTimeoutDoesNotWait) {
    const std::string endpoint = GetParam().fixed();
    refusal(errc::not_connected, [&] { inlet in(endpoint, {.open_timeout = 0ms}); });
}

TEST_P(Lifecycle, CloseWakesABlockedPull) {
    for (int round = 0; round < 10; ++round) {
        outlet out = serve(counter());
        inlet in = connect(out);
        background puller([&] {
            std::vector<std::int64_t> values;
            std::vector<double> stamps;
            refusal(errc::closed, [&] { in.pull_chunk(values, stamps, forever); });
        });
        EXPECT_TRUE(puller.blocked());
        in.close();
        puller.join();
        in.close();
        std::int64_t value = 0;
        double stamp = 0;
        refusal(errc::closed, [&] { in.pull_sample(value, stamp, patience); });
        EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
    }
}

/// As a profiler's, or a timer's that the program uses.
TEST_P(Lifecycle, SignalsNeitherEndNorProlongAPull) {
    struct sigaction nothing {};
    struct sigaction before {};
    nothing.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &nothing, &before), 0);
    outlet out = serve(counter());
    inlet in = connect(out);
    const auto begun = std::chrono::steady_clock::now();
    std::atomic<bool> done{false};
    std::thread puller([&] {
        std::int64_t value = 0;
        double stamp = 0;
        EXPECT_FALSE(in.pull_sample(value, stamp, 300ms));
        EXPECT_GE(std::chrono::steady_clock::now() - begun, 300ms);
        done = true;
    });
    EXPECT_TRUE(eventually([&] {
        ::pthread_kill(puller.native_handle(), SIGUSR1);
        return done.load();
    }));
    puller.join();
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(Lifecycle, StopWakesABlockedPush) {
    for (int round = 0; round < 5; ++round) {
        outlet out = serve(counter(), {.full = on_full::wait, .buffer = MiB, .send_timeout = forever, .linger = 50ms});
        inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
        const auto chunk = counting(0, 10'000);
        background producer([&] {
            refusal(errc::closed, [&] {
                for (;;)
                    out.push_chunk(chunk);
            });
        });
        EXPECT_TRUE(producer.blocked());
        out.stop();
        producer.join();
    }
}

TEST_P(Lifecycle, StopWakesAWaitForConsumers) {
    outlet out = serve(counter());
    bool came = true;
    background waiter([&] { came = out.wait_for_consumers(forever); });
    EXPECT_TRUE(waiter.blocked());
    out.stop();
    waiter.join();
    EXPECT_FALSE(came);
}

TEST_P(Lifecycle, StopWithAConsumerThatNeverPullsReturns) {
    for (const when_full full : {when_full::drop_oldest, when_full::hold, when_full::latest}) {
        outlet out = serve(counter(), {.linger = 50ms});
        inlet in = connect(out, {.full = full, .max_buffered = MiB});
        for (std::uint64_t i = 0; i < 300; ++i)
            out.push_chunk(counting(i * 10'000, 10'000));
        out.stop();
        refusal(errc::closed, [&] { out.push_sample(std::int64_t{0}); });
    }
}

/// Not by and by: a consumer that reads has all of it long before linger is over.
TEST_P(Lifecycle, WhatIsLeftAtTheEndGoesAsFastAsTheLinkTakesIt) {
    constexpr std::uint64_t samples = 4'000'000;
    outlet out = serve(counter(), {.buffer = 128 * MiB, .linger = support::sanitized ? 60s : 2s});
    inlet in = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    for (std::uint64_t next = 0; next < samples; next += 10'000)
        out.push_chunk(counting(next, 10'000));
    background stopper([&] { out.stop(); });
    EXPECT_TRUE(holds_exactly(follow(in), 0, samples));
    stopper.join();
}

TEST_P(Lifecycle, HandlesMayBeDestroyedInAnyOrder) {
    std::array<int, 4> order{0, 1, 2, 3};
    do {
        auto ctx = std::make_unique<context>(config{});
        auto out = std::make_unique<outlet>(serve(counter(), {.ctx = *ctx}));
        auto first = std::make_unique<inlet>(connect(*out, {.ctx = *ctx}));
        auto second = std::make_unique<inlet>(connect(*out));
        out->push_chunk(counting(0, 100));
        for (const int which : order) {
            switch (which) {
            case 0: ctx.reset(); break;
            case 1: out.reset(); break;
            case 2: first.reset(); break;
            case 3: second.reset(); break;
            }
            if (out)
                out->push_sample(std::int64_t{0});
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(Lifecycle, AnInletOutlivesItsContextHandle) {
    auto ctx = std::make_unique<context>(config{});
    outlet out = serve(counter(), {.ctx = *ctx});
    inlet in = connect(out, {.ctx = *ctx});
    ctx.reset();
    out.push_chunk(counting(0, 100));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 100));
}

TEST_P(Lifecycle, ConsumersLeaveAndComeBack) {
    outlet out = serve(counter());
    inlet steady = connect(out);
    std::uint64_t pushed = 0;
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        inlet in = connect(out);
        out.push_chunk(counting(pushed, 100));
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 50), pushed, pushed + 50));
        pushed += 100;
    }
    out.push_chunk(counting(pushed, 100));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(steady), 0, pushed + 100));
}

TEST_P(Lifecycle, AnEndpointCanBeServedAgainAtOnce) {
    const std::string endpoint = GetParam().fixed();
    std::string uid;
    for (std::uint64_t round = 1; round <= 20; ++round) {
        SCOPED_TRACE(round);
        outlet out = serve_at(endpoint, counter(round));
        inlet in = connect(out);
        EXPECT_EQ(in.channel_count(), round);
        EXPECT_EQ(in.info().uid, out.info().uid);
        EXPECT_NE(out.info().uid, uid);
        uid = out.info().uid;
        out.push_chunk(counting(0, 10, round));
        out.stop();
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 10, round));
    }
}

TEST_P(Lifecycle, AnInletNeverTakesTheNextOutletForItsOwn) {
    const std::string endpoint = GetParam().fixed();
    auto first = std::make_unique<outlet>(serve_at(endpoint, counter()));
    inlet old = connect(*first);
    first->push_chunk(counting(0, 5));
    first.reset();
    outlet second = serve_at(endpoint, numbers(channel_format::float32, 2));
    inlet fresh = connect(second);
    second.push_sample(std::array{1.0f, 2.0f});
    const auto all = pull<std::int64_t>(old);
    EXPECT_TRUE(holds_exactly(all, 0, 5));
    EXPECT_TRUE(all.ended);
    EXPECT_TRUE(same(pull<float>(fresh, 1).values, std::array{1.0f, 2.0f}));
    std::int64_t value = 0;
    double stamp = 0;
    EXPECT_EQ(old.pull_sample(value, stamp, patience).status, pull_status::ended);
    EXPECT_TRUE(eventually([&] { return second.consumer_count() == 1; }));
}

TEST_P(Lifecycle, MovedHandlesKeepTheStreamAndEmptyOnesSayClosed) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_sample(std::int64_t{0});
    outlet moved_out = std::move(out);
    inlet moved_in = std::move(in);
    moved_out.push_sample(std::int64_t{1});
    moved_out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(moved_in), 0, 2));

    std::vector<std::int64_t> values(1);
    std::vector<double> stamps(1);
    double stamp = 0;
    refusal(errc::closed, [&] { out.push_sample(std::int64_t{0}); });
    refusal(errc::closed, [&] { out.push_chunk(values); });
    refusal(errc::closed, [&] { out.push_sample("text"); });
    refusal(errc::closed, [&] { out.wait_for_consumers(patience); });
    refusal(errc::closed, [&] { in.pull_chunk(values, stamps, patience); });
    refusal(errc::closed, [&] { in.pull_chunk(std::span(values), stamps, patience); });
    refusal(errc::closed, [&] { in.pull_sample(values, stamp, patience); });
    refusal(errc::closed, [&] { in.pull_view(patience); });
    refusal(errc::closed, [&] { in.flush(); });
    out.stop();
    in.close();
}

TEST_P(Lifecycle, AssigningToALiveHandleEndsItsOldStream) {
    outlet out = serve(counter());
    inlet of_old = connect(out);
    out.push_chunk(counting(0, 10));
    out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 20));
    const auto all = pull<std::int64_t>(of_old);
    EXPECT_TRUE(holds_exactly(all, 0, 10));
    EXPECT_TRUE(all.ended);
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 20), 0, 20));
    in = connect(out);
    out.push_chunk(counting(20, 20));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 20), 20, 40));
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 1; }));
}

/// Runs in a forked child: exit code 0 when everything inherited is inert there.
int check_inherited(outlet& out, inlet& in) {
    ::alarm(60);
    const auto is_closed = [](auto&& call) {
        try {
            call();
        } catch (const error& e) {
            return e.code() == make_error_code(errc::closed);
        }
        return false;
    };
    std::vector<std::int64_t> values(1);
    std::vector<double> stamps(1);
    if (!is_closed([&] { out.push_sample(std::int64_t{99}); }))
        return 1;
    if (!is_closed([&] { out.wait_for_consumers(patience); }))
        return 2;
    if (!is_closed([&] { in.pull_chunk(std::span(values), stamps, patience); }))
        return 3;
    if (!is_closed([&] { in.pull_chunk(values, stamps, patience); }))
        return 4;
    out.stop();
    in.close();
    { const outlet gone = std::move(out); }
    { const inlet gone = std::move(in); }
    return 0;
}

TEST_P(Lifecycle, AForkedChildsHandlesAreInertAndHarmNothing) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(check_inherited(out, in));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(out.consumer_count(), 1u);
    out.push_chunk(counting(10, 10));
    inlet late = connect(out);
    out.push_chunk(counting(20, 10));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 30));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(late), 20, 30));
}

// ---- handles that live longer than main

/// Exits with live handles in static storage. `context_first`: the default context is older than them, so that it is
/// destroyed after them; otherwise before.
[[noreturn]] void exit_with_global_handles(const std::string& endpoint, bool context_first) {
    if (context_first)
        context::default_context();
    static std::unique_ptr<outlet> out;
    static std::unique_ptr<inlet> in;
    static struct at_exit {
        ~at_exit() {
            out.reset();
            in.reset();
        }
    } destroyed_at_exit;
    out = std::make_unique<outlet>(serve_at(endpoint, counter()));
    in = std::make_unique<inlet>(connect(*out));
    out->push_chunk(counting(0, 1000));
    std::exit(0);
}

TEST_P(LifecycleDeathTest, GlobalHandlesAreDestroyedAtExit) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(exit_with_global_handles(GetParam().any(), true), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(exit_with_global_handles(GetParam().any(), false), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void exit_with_leaked_handles(const std::string& endpoint) {
    static outlet* const out = new outlet(serve_at(endpoint, counter()));
    static inlet* const in = new inlet(connect(*out, {.full = when_full::hold, .max_buffered = MiB}));
    for (int i = 0; i < 300; ++i)
        out->push_chunk(counting(0, 10'000));
    std::exit(in->channel_count() == 1 ? 0 : 1);
}

TEST_P(LifecycleDeathTest, HandlesThatAreNeverDestroyedDoNotHoldTheExit) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(exit_with_leaked_handles(GetParam().any()), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace rivulet::contract
