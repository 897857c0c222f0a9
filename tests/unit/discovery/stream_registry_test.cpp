#include "fake_beacons.hpp"

#include <discovery/stream_registry.hpp>

#include <gtest/gtest.h>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;
using support::make_advert;
using kind = stream_event::kind;
using strings = std::vector<std::string>;

udp_address address(const std::string& host, std::uint16_t port = 40'000) {
    return parse_udp_address(host, port).value_or(udp_address{});
}

const platform::time_point start(1h);
const participant_id somebody{std::byte{1}};

beacon all_of(std::uint64_t revision, std::vector<advert> adverts) {
    beacon b;
    b.revision = revision;
    b.parts = 1;
    b.total = static_cast<std::uint32_t>(adverts.size());
    b.adverts = std::move(adverts);
    return b;
}

strings names(const stream_registry& registry) {
    strings out;
    for (const found_stream& s : registry.streams())
        out.push_back(s.info.name);
    std::ranges::sort(out);
    return out;
}

TEST(ReachableEndpoints, AWildcardBecomesWhereTheBeaconsCameFrom) {
    const std::vector<udp_address> sources{address("10.0.0.7"), address("2001:db8::7")};
    EXPECT_EQ(reachable_endpoints({"zmq+tcp://*:5"}, sources),
              (strings{"zmq+tcp://10.0.0.7:5", "zmq+tcp://[2001:db8::7]:5"}));
    EXPECT_EQ(reachable_endpoints({"zmq+tcp://0.0.0.0:5"}, sources), strings{"zmq+tcp://10.0.0.7:5"});
    EXPECT_EQ(reachable_endpoints({"posix+tcp://[::]:5"}, sources), strings{"posix+tcp://[2001:db8::7]:5"});
    EXPECT_EQ(reachable_endpoints({"posix+tcp://[::]:5"}, {address("10.0.0.7")}), strings{});
}

TEST(ReachableEndpoints, TheLoopbackInterfaceStandsForBothFamilies) {
    EXPECT_EQ(reachable_endpoints({"a://*:5"}, {address("127.0.0.1")}), strings{"a://127.0.0.1:5"});
    EXPECT_EQ(reachable_endpoints({"a://[::]:5"}, {address("127.0.0.1")}), strings{"a://[::1]:5"});
    EXPECT_EQ(reachable_endpoints({"a://0.0.0.0:5"}, {address("::1")}), strings{"a://127.0.0.1:5"});
}

TEST(ReachableEndpoints, EverythingElseStaysAsItIs) {
    const strings as_they_are{"zmq+ipc:///tmp/a*:5", "zmq+tcp://lab-pc:5", "posix+tcp://[fe80::1%eth0]:5"};
    EXPECT_EQ(reachable_endpoints(as_they_are, {address("10.0.0.7")}), as_they_are);
}

TEST(ReachableEndpoints, ALinkLocalAddressKeepsItsInterface) {
    udp_address local = address("fe80::7");
    local.scope = 1; // the loopback interface is the first everywhere
    EXPECT_EQ(reachable_endpoints({"zmq+tcp://*:5"}, {local}), strings{"zmq+tcp://[fe80::7%lo]:5"});
}

TEST(StreamRegistry, TheNearestAddressComesFirstWhateverWasHeardFirst) {
    stream_registry registry("lab");
    udp_address local = address("fe80::7");
    local.scope = 1;
    const beacon b = all_of(1, {make_advert("a", "ua")});
    for (const udp_address& from : {local, address("2001:db8::7"), address("10.0.0.7"), address("127.0.0.1")})
        registry.receive(somebody, b, from, start);
    EXPECT_EQ(registry.streams().at(0).endpoints,
              (strings{"zmq+tcp://127.0.0.1:5000", "zmq+tcp://10.0.0.7:5000", "zmq+tcp://[2001:db8::7]:5000",
                       "zmq+tcp://[fe80::7%lo]:5000"}));
    EXPECT_EQ(registry.streams().at(0).info.session, "lab");
}

TEST(StreamRegistry, AnAddressThatIsNoLongerHeardIsNoLongerOffered) {
    stream_registry registry("lab");
    const beacon b = all_of(1, {make_advert("a", "ua")});
    registry.receive(somebody, b, address("10.0.0.7"), start);
    registry.receive(somebody, b, address("10.1.0.7"), start);
    registry.take_events();
    registry.receive(somebody, b, address("10.1.0.7"), start + 3s);
    registry.expire(start + 4s);
    EXPECT_EQ(registry.streams().at(0).endpoints, strings{"zmq+tcp://10.1.0.7:5000"});
    EXPECT_EQ(registry.take_events().at(0).what, kind::changed);
    registry.expire(start + 7s);
    EXPECT_TRUE(registry.streams().empty());
    EXPECT_EQ(registry.take_events().at(0).what, kind::disappeared);
    EXPECT_EQ(registry.next_turn(), platform::time_point::max());
}

TEST(StreamRegistry, ExpiryFollowsTheSendersOwnInterval) {
    stream_registry registry("lab");
    beacon b = all_of(1, {make_advert("a", "ua")});
    b.interval_ms = 10'000;
    registry.receive(somebody, b, address("10.0.0.7"), start);
    registry.expire(start + 34s);
    EXPECT_EQ(names(registry), strings{"a"});
    EXPECT_LE(registry.next_turn(), start + 35s);
    registry.expire(start + 35s);
    EXPECT_EQ(names(registry), strings{});
}

TEST(StreamRegistry, WhoIsSilentIsAskedWhetherItLives) {
    stream_registry registry("lab");
    const beacon b = all_of(1, {make_advert("a", "ua")});
    registry.receive(somebody, b, address("10.0.0.7", 4711), start);
    EXPECT_EQ(registry.next_turn(), start + 1500ms);
    EXPECT_TRUE(registry.take_questions(start + 1499ms).empty());
    const auto questions = registry.take_questions(start + 1500ms);
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_EQ(questions[0].to, address("10.0.0.7", 4711));
    EXPECT_EQ(questions[0].what.to, somebody);
    EXPECT_TRUE(registry.take_questions(start + 1501ms).empty());
    EXPECT_EQ(registry.take_questions(start + 1625ms).size(), 1u);
    registry.receive(somebody, b, address("10.0.0.7", 4711), start + 1630ms);
    EXPECT_EQ(registry.next_turn(), start + 3130ms);
}

TEST(StreamRegistry, ANewRevisionReplacesAllThatItDoesNotMention) {
    stream_registry registry("lab");
    registry.receive(somebody, all_of(2, {make_advert("a", "ua"), make_advert("b", "ub")}), address("10.0.0.7"), start);
    registry.receive(somebody, all_of(5, {make_advert("b", "ub"), make_advert("c", "uc")}), address("10.0.0.7"), start);
    EXPECT_EQ(names(registry), (strings{"b", "c"}));
    registry.receive(somebody, all_of(2, {make_advert("a", "ua")}), address("10.0.0.7"), start);
    EXPECT_EQ(names(registry), (strings{"b", "c"})) << "late, of an old revision";
}

TEST(StreamRegistry, AChangedDescriptionIsAChange) {
    stream_registry registry("lab");
    registry.receive(somebody, all_of(1, {make_advert("a", "ua")}), address("10.0.0.7"), start);
    advert moved = make_advert("a", "ua");
    moved.endpoints = {"zmq+tcp://*:6000"};
    registry.receive(somebody, all_of(2, {moved}), address("10.0.0.7"), start);
    const auto events = registry.take_events();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].what, kind::changed);
    EXPECT_EQ(events[1].stream.endpoints, strings{"zmq+tcp://10.0.0.7:6000"});
}

TEST(StreamRegistry, WhatIsMissingIsAskedForAgainAndAgainMoreSlowly) {
    stream_registry registry("lab");
    beacon b;
    b.revision = 7;
    b.total = 1000;
    registry.receive(somebody, b, address("10.0.0.7", 4711), start);
    EXPECT_FALSE(registry.complete());
    auto now = start;
    std::chrono::nanoseconds last{0};
    int to_group = 0;
    for (int i = 0; i < 12; ++i) {
        const auto questions = registry.take_questions(now);
        ASSERT_EQ(questions.size(), 1u) << i;
        EXPECT_EQ(questions[0].to, address("10.0.0.7", 4711));
        EXPECT_EQ(questions[0].what.base, 0u);
        EXPECT_EQ(questions[0].what.revision, 7u);
        EXPECT_EQ(questions[0].what.wanted, 0xffffffffu);
        to_group += questions[0].what.to_group;
        EXPECT_TRUE(registry.take_questions(now).empty()) << "one at a time";
        registry.receive(somebody, b, address("10.0.0.7", 4711), now);
        const auto next = registry.next_turn();
        EXPECT_GE(next - now, last);
        last = next - now;
        now = next;
    }
    EXPECT_LE(last, 1s);
    EXPECT_GT(to_group, 0) << "answers to our address may not get here";
}

TEST(StreamRegistry, OnlyThePartsThatAreMissingAreAskedFor) {
    stream_registry registry("lab");
    const auto part = [](std::uint32_t number) {
        beacon b = all_of(9, {make_advert("s" + std::to_string(number), "u" + std::to_string(number))});
        b.part = number;
        b.parts = 4;
        b.total = 4;
        return b;
    };
    registry.receive(somebody, part(1), address("10.0.0.7"), start);
    registry.receive(somebody, part(3), address("10.0.0.7"), start);
    EXPECT_EQ(names(registry), (strings{"s1", "s3"})) << "no stream waits for the others";
    const auto questions = registry.take_questions(start);
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_EQ(questions[0].what.first_part, 0u);
    EXPECT_EQ(questions[0].what.wanted, 0b101u);
    registry.receive(somebody, part(0), address("10.0.0.7"), start);
    registry.receive(somebody, part(2), address("10.0.0.7"), start);
    EXPECT_TRUE(registry.complete());
    EXPECT_TRUE(registry.take_questions(start + 1s).empty());
}

TEST(StreamRegistry, AGapInTheChangesIsFilledFromWhereItBegan) {
    stream_registry registry("lab");
    registry.receive(somebody, all_of(3, {make_advert("a", "ua")}), address("10.0.0.7"), start);
    beacon later = all_of(5, {make_advert("c", "uc")});
    later.base = 4;
    later.total = 3;
    registry.receive(somebody, later, address("10.0.0.7"), start);
    EXPECT_EQ(names(registry), (strings{"a", "c"}));
    const auto questions = registry.take_questions(start);
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_EQ(questions[0].what.base, 3u);
}

TEST(StreamRegistry, AWrongTotalIsFollowedByAskingForAll) {
    stream_registry registry("lab");
    registry.receive(somebody, all_of(3, {make_advert("a", "ua")}), address("10.0.0.7"), start);
    EXPECT_TRUE(registry.complete());
    beacon b;
    b.revision = 3;
    b.total = 2;
    registry.receive(somebody, b, address("10.0.0.7"), start);
    EXPECT_FALSE(registry.complete());
    const auto questions = registry.take_questions(start);
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_EQ(questions[0].what.base, 0u);
}

TEST(StreamRegistry, LimitsHoldAndSayNo) {
    stream_registry registry("lab", {.participants = 2, .streams = 3});
    for (std::uint8_t i = 0; i < 4; ++i) {
        std::vector<advert> adverts;
        for (int s = 0; s < 2; ++s)
            adverts.push_back(make_advert("s", "u" + std::to_string(i) + std::to_string(s)));
        EXPECT_EQ(registry.receive({std::byte{i}}, all_of(1, adverts), address("10.0.0.7"), start), i == 0) << int(i);
    }
    EXPECT_EQ(registry.streams().size(), 3u);
    EXPECT_EQ(registry.participants(), 2u);
    EXPECT_TRUE(registry.complete()) << "what was refused is not asked for again";
}

} // namespace
} // namespace rivulet::discovery
