// The service's endpoint as others see it: programs in other languages, the dying, and whoever means no good.
#include "child_process.hpp"
#include "counter_stream.hpp"
#include "links.hpp"
#include "memory.hpp"
#include "raw_client.hpp"

#include <future>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::random_bytes;
using support::raw_client;
using support::serve_counter;
using waiting::eventually;
using waiting::patience;

control_reply echo(const control_request& q) { return {.data = q.data}; }

std::vector<std::byte> bytes(std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

/// A request frame as a posix service takes it: its length, then [4, id, "info", {"uid": uid}, nil].
std::string info_request(const std::string& uid, char id = 1) {
    std::string frame =
        std::string("\x95\x04") + id + "\xA4info\x81\xA3uid\xD9" + static_cast<char>(uid.size()) + uid + "\xC0";
    return std::string(3, '\0') + static_cast<char>(frame.size()) + frame;
}

// --- programs in other languages ------------------------------------------------------------------------------------

class PlainService : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, PlainService, ::testing::Values(links::posix_tcp, links::posix_unix), links::name_of);

TEST_P(PlainService, AScriptCanAskEverything) {
    stream_info info{.name = "counter", .format = channel_format::int64};
    info.desc.append("amplifier", "X7");
    outlet out(info, {.endpoints = {GetParam().any()}});
    control_request seen;
    out.on_control([&](const control_request& q) {
        seen = q;
        return echo(q);
    });
    std::vector<std::int64_t> chunk(6000);
    std::iota(chunk.begin(), chunk.end(), 0);
    out.push_chunk(chunk);
    support::child_process script({PYTHON, PLAIN_SERVICE, out.endpoints().front()});
    EXPECT_EQ(script.line(), "info 0 counter amplifier X7");
    EXPECT_EQ(script.line(), "time 0 True True True");
    EXPECT_EQ(script.line(), "stats 0 6000");
    EXPECT_EQ(script.line(), "replay True");
    EXPECT_EQ(script.line(), "control 0 b'\\x00\\x01'");
    EXPECT_EQ(script.line(), "dance 2 this version knows no such operation");
    EXPECT_EQ(script.line(), "stranger 3");
    EXPECT_EQ(script.exit_code(), 0);
    EXPECT_EQ(seen.from, "python");
    EXPECT_EQ(seen.about_sequence, 7u);
    EXPECT_EQ(seen.id, 5u);
}

// --- the dying ------------------------------------------------------------------------------------------------------

class DyingProducer : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, DyingProducer, ::testing::ValuesIn(links::between_processes), links::name_of);

TEST_P(DyingProducer, RequestsInFlightEndAtOnceWithAnUnknownOutcome) {
    support::child_process producer(
        {support::program_beside("test_source"), GetParam().any(), "async", "drop", "deaf"});
    inlet in(producer.line());
    std::promise<std::optional<control_reply>> answer;
    in.post_control(bytes("x"), {.timeout = forever},
                    [&](std::optional<control_reply> reply) { answer.set_value(std::move(reply)); });
    ASSERT_TRUE(producer.says("asked"));
    producer.signal(SIGKILL);
    EXPECT_FALSE(answer.get_future().get()) << "its handler had begun";
    ASSERT_TRUE(producer.exit_code()); // until it is all gone, its socket may take one more connection
    // What is asked of the dead is never sent, and says so without waiting for its time.
    const auto reply = in.send_control(bytes("x"), {.timeout = forever});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::unreachable);
    EXPECT_FALSE(in.remote_stats(forever));
}

TEST_P(DyingProducer, AStoppedOneIsWaitedForNoLongerThanAsked) {
    support::child_process producer(
        {support::program_beside("test_source"), GetParam().any(), "async", "drop", "deaf"});
    inlet in(producer.line());
    ASSERT_TRUE(producer.stop());
    EXPECT_FALSE(in.remote_stats(20ms));
    const auto reply = in.send_control(bytes("x"), {.timeout = 20ms});
    EXPECT_TRUE(!reply || reply->status == control_status::unreachable) << "unknown, or never sent";
    EXPECT_FALSE(in.time_correction(20ms));
}

// --- whoever means no good ------------------------------------------------------------------------------------------

class BadClients : public ::testing::TestWithParam<links::link> {
protected:
    /// While `attack` goes on and after it, others are served.
    template<class Attack>
    void attack(Attack attack) {
        outlet out = serve_counter(GetParam().any());
        out.on_control(echo);
        inlet in(out.endpoints().front());
        const std::string service = out.service_endpoints().front();
        for (unsigned round = 0; round < 10; ++round) {
            attack(service, out, round);
            const auto reply = in.send_control(bytes("x"), {.timeout = patience});
            ASSERT_TRUE(reply && *reply);
            const context fresh{config{}}; // a connection that is made now
            inlet late(out.endpoints().front(), {.ctx = fresh});
            ASSERT_TRUE(late.remote_stats(patience));
        }
        std::uint64_t pushed = 0;
        support::push_and_pull(out, pushed, {&in});
    }
};
INSTANTIATE_TEST_SUITE_P(Over, BadClients, ::testing::ValuesIn(links::tcp), links::name_of);

TEST_P(BadClients, Garbage) {
    attack([](const std::string& service, const outlet&, unsigned round) {
        raw_client(service).send(random_bytes(100'000, round));
        raw_client(service).send("GET / HTTP/1.1\r\nHost: rivulet\r\n\r\n");
        raw_client(service).send(std::string(8, '\xFF'));
        raw_client(service).send(std::string("\0\0\0\x04", 4) + random_bytes(4, round) + info_request("nobody"));
    });
}

TEST_P(BadClients, FiveHundredSilentConnections) {
    std::vector<std::unique_ptr<raw_client>> silent;
    attack([&](const std::string& service, const outlet&, unsigned) {
        for (int i = 0; i < 50; ++i)
            silent.push_back(std::make_unique<raw_client>(service));
    });
}

TEST_P(BadClients, MoreConnectionsThanThereAreSlots) {
    std::vector<std::unique_ptr<raw_client>> silent;
    attack([&](const std::string& service, const outlet&, unsigned) {
        for (int i = 0; i < 150; ++i)
            silent.push_back(std::make_unique<raw_client>(service));
    });
}

TEST_P(BadClients, AByteAtATime) {
    std::vector<std::unique_ptr<raw_client>> slow;
    attack([&](const std::string& service, const outlet& out, unsigned round) {
        slow.push_back(std::make_unique<raw_client>(service));
        for (std::size_t i = 0; i < slow.size(); ++i)
            slow[i]->send(info_request(out.info().uid).substr(round - i, 1));
    });
}

TEST(BadPosixClients, ARequestThatNeverBecomesCompleteIsDropped) {
    outlet out = serve_counter("posix+tcp://127.0.0.1:*");
    const raw_client slow(out.service_endpoints().front());
    slow.send(info_request(out.info().uid).substr(0, 10));
    EXPECT_EQ(slow.receive(1), "") << "the service hangs up after 5 s (it would answer only what is complete)";
}

TEST(BadPosixClients, WhoDoesNotReadIsNotReadFromAndCostsLittle) {
    stream_info info{.name = "large", .format = channel_format::int8};
    info.desc.append("blob", std::string(1u << 19, 'x'));
    outlet out(info, {.endpoints = {"posix+tcp://127.0.0.1:*"}});
    const raw_client greedy(out.service_endpoints().front());
    const support::memory_mark before;
    std::string many;
    for (int i = 0; i < 2000; ++i)
        many += info_request(out.info().uid); // 1 GiB of answers
    greedy.send(many);
    inlet in(out.endpoints().front());
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(in.remote_stats(patience));
    EXPECT_TRUE(before.grew_at_most(64u << 20));
}

} // namespace
} // namespace rivulet
