// Discovery between nodes on a network and with a clock that are not real.
#include "fake_beacons.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;
using support::fake_network;
using support::make_advert;
using support::network_faults;

std::vector<std::string> numbered(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
        names.push_back("s" + std::to_string(100'000 + i));
    return names;
}

void advertise(fake_network& net, fake_network::process& p, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        p.node.advertise(make_advert(name, "uid-" + name), net.now());
    p.node.announce(net.now());
}

std::vector<stream_event::kind> kinds(const std::vector<stream_event>& events) {
    std::vector<stream_event::kind> out(events.size());
    std::ranges::transform(events, out.begin(), &stream_event::what);
    return out;
}

using kind = stream_event::kind;

TEST(Beacon, AStreamIsFoundInMillisecondsNotAnInterval) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    advertise(net, pub, {"EEG"});
    net.run_for(300ms); // between two beacons
    const auto began = net.now();
    sub.node.set_interest(true, net.now());
    ASSERT_TRUE(net.run_until([&] { return !sub.names().empty(); }, 5s));
    EXPECT_LE(net.now() - began, 2ms);
    const auto stream = sub.node.registry().streams().at(0);
    EXPECT_EQ(stream.info.name, "EEG");
    EXPECT_EQ(stream.info.host, "host1");
    EXPECT_EQ(stream.info.session, "default");
    EXPECT_EQ(stream.endpoints, std::vector<std::string>{"zmq+tcp://10.0.0.1:5000"});
}

TEST(Beacon, AStreamThatComesLaterIsFoundAtOnce) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    net.run_for(10s);
    const auto began = net.now();
    advertise(net, pub, {"EEG"});
    ASSERT_TRUE(net.run_until([&] { return !sub.names().empty(); }, 5s));
    EXPECT_LE(net.now() - began, 1ms);
    EXPECT_EQ(kinds(sub.node.take_events()), std::vector{kind::appeared});
}

TEST(Beacon, AGoodbyeRemovesAStreamAtOnceAndOnlyThat) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    advertise(net, pub, {"a", "b"});
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 2; }, 5s));
    sub.node.take_events();
    pub.node.withdraw("uid-a");
    pub.node.announce(net.now());
    ASSERT_TRUE(net.run_until([&] { return sub.names() == std::vector<std::string>{"b"}; }, 2ms));
    EXPECT_EQ(kinds(sub.node.take_events()), std::vector{kind::disappeared});
    pub.node.withdraw("uid-b");
    pub.node.announce(net.now());
    ASSERT_TRUE(net.run_until([&] { return sub.names().empty(); }, 2ms));
}

TEST(Beacon, AKilledProcessExpiresAndAQuietOneDoesNot) {
    fake_network net;
    auto* dead = &net.add(1);
    auto& quiet = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    advertise(net, *dead, {"dead"});
    advertise(net, quiet, {"quiet"});
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 2; }, 5s));
    net.kill(*dead);
    net.run_for(2500ms);
    EXPECT_EQ(sub.names().size(), 2u) << "three beacons may be missed";
    net.run_for(2s);
    EXPECT_EQ(sub.names(), std::vector<std::string>{"quiet"});
    net.run_for(60s);
    EXPECT_EQ(sub.names(), std::vector<std::string>{"quiet"});
}

TEST(Beacon, ARestartedProcessIsAnotherParticipant) {
    fake_network net;
    auto* before = &net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    before->node.advertise(make_advert("EEG", "uid-1"), net.now());
    before->node.announce(net.now());
    net.run_for(10ms);
    net.kill(*before);
    auto& after = net.add(1); // the same host and name, another uid
    after.node.advertise(make_advert("EEG", "uid-2"), net.now());
    after.node.announce(net.now());
    net.run_for(10ms);
    EXPECT_EQ(sub.names().size(), 2u);
    net.run_for(5s);
    ASSERT_EQ(sub.names().size(), 1u);
    EXPECT_EQ(sub.node.registry().streams().at(0).info.uid, "uid-2");
}

/// Advertises a stream of source "amp".
void advertise_amp(fake_network& net, fake_network::process& p, const std::string& uid, const std::string& id = "amp") {
    advert a = make_advert("EEG", uid);
    a.info.source_id = id;
    p.node.advertise(a, net.now());
    p.node.announce(net.now());
}

TEST(SourceConflicts, BothOutletsAreToldOnceAndSoIsWhoSearches) {
    fake_network net;
    auto& first = net.add(1);
    auto& second = net.add(2);
    auto& looker = net.add(3);
    looker.node.set_interest(true, net.now());
    advertise_amp(net, first, "u1");
    net.run_for(5s);
    EXPECT_TRUE(first.node.take_conflicts().empty());
    advertise_amp(net, second, "u2");
    net.run_for(3s);
    for (auto* p : {&first, &second, &looker}) {
        const auto conflicts = p->node.take_conflicts();
        ASSERT_EQ(conflicts.size(), 1u);
        EXPECT_EQ(conflicts[0].source_id, "amp");
        for (const char* part : {"u1", "u2", "host1", "host2", "EEG"})
            EXPECT_NE(conflicts[0].streams.find(part), std::string::npos) << conflicts[0].streams;
    }
    net.run_for(10s);
    for (auto* p : {&first, &second, &looker})
        EXPECT_TRUE(p->node.take_conflicts().empty()) << "told once";
}

TEST(SourceConflicts, WhoComesLaterIsToldBeforeTheSearchHasSettled) {
    fake_network net;
    auto& first = net.add(1);
    auto& second = net.add(2);
    advertise_amp(net, first, "u1");
    advertise_amp(net, second, "u2");
    net.run_for(5s);
    auto& looker = net.add(3);
    looker.node.set_interest(true, net.now());
    ASSERT_TRUE(net.run_until([&] { return net.now() >= looker.node.settles_at(300ms); }, 5s));
    EXPECT_EQ(looker.node.take_conflicts().size(), 1u);
}

TEST(SourceConflicts, WithinAContextToo) {
    fake_network net;
    auto& both = net.add(1);
    advertise_amp(net, both, "u1");
    advertise_amp(net, both, "u2");
    advertise_amp(net, both, "u3", "another");
    advertise_amp(net, both, "u4", "");
    advertise_amp(net, both, "u5", "");
    net.run_for(3s);
    const auto conflicts = both.node.take_conflicts();
    ASSERT_EQ(conflicts.size(), 1u);
    EXPECT_EQ(conflicts[0].source_id, "amp");
}

TEST(SourceConflicts, ARestartIsNone) {
    fake_network net;
    auto* before = &net.add(1);
    auto& looker = net.add(2);
    looker.node.set_interest(true, net.now());
    advertise_amp(net, *before, "u1");
    net.run_for(2s);
    net.kill(*before);
    auto& after = net.add(1);
    advertise_amp(net, after, "u2");
    net.run_for(300ms);
    advertise_amp(net, after, "u3"); // takes the place of u2: for a moment there are both
    after.node.withdraw("u2");
    after.node.announce(net.now());
    net.run_for(10s);
    EXPECT_TRUE(looker.node.take_conflicts().empty());
    EXPECT_TRUE(after.node.take_conflicts().empty());
}

TEST(SourceConflicts, ForgetsWhatItNeedNotKnow) {
    fake_network net;
    auto& mine = net.add(1);
    auto& other = net.add(2);
    advertise_amp(net, mine, "u1");
    mine.node.withdraw("u1");
    mine.node.announce(net.now());
    advertise_amp(net, other, "u2");
    net.run_for(3s);
    EXPECT_TRUE(mine.node.take_conflicts().empty());
}

TEST(Beacon, AThousandStreamsOfAProcessAreFoundCompletely) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    const auto names = numbered(1000);
    advertise(net, pub, names);
    net.run_for(500ms);
    const auto began = net.now();
    sub.node.set_interest(true, net.now());
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 1000; }, 10s));
    EXPECT_LE(net.now() - began, 20ms);
    EXPECT_EQ(sub.names(), names);
    EXPECT_TRUE(sub.node.registry().complete());
    EXPECT_LE(sub.largest, max_datagram_bytes);
    // From then on only signs of life, and one more stream is one small datagram.
    const auto bytes = sub.bytes_received;
    net.run_for(10s);
    EXPECT_LE(sub.bytes_received - bytes, 10u * 2 * 150);
    const auto before = sub.bytes_received;
    advertise(net, pub, {"t"});
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 1001; }, 1s));
    EXPECT_LE(sub.bytes_received - before, 400u);
}

TEST(Beacon, NeverMoreDatagramsAreAskedForThanASmallBufferHolds) {
    fake_network net;
    for (int i = 0; i < 20; ++i)
        advertise(net, net.add(1), [&] {
            auto names = numbered(200);
            for (auto& name : names)
                name += "-" + std::to_string(i);
            return names;
        }());
    auto& sub = net.add(2);
    net.faults.least_delay = net.faults.most_delay = 5ms; // all that is under way arrives together
    net.run_for(100ms);
    sub.node.set_interest(true, net.now());
    std::uint64_t most = 0;
    auto at = net.now();
    std::uint64_t count = 0, before = sub.datagrams_received;
    ASSERT_TRUE(net.run_until(
        [&] {
            if (net.now() != at) {
                at = net.now();
                count = 0;
            }
            count += sub.datagrams_received - before;
            before = sub.datagrams_received;
            most = std::max(most, count);
            return sub.names().size() == 4000;
        },
        60s));
    EXPECT_LE(most, 90u);
}

TEST(Beacon, HalfOfAllDatagramsLostAllIsFoundAllTheSame) {
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
        fake_network net(seed, {.loss = 0.5, .doubling = 0.1, .least_delay = 100us, .most_delay = 3ms});
        auto& pub = net.add(1);
        auto& small = net.add(1);
        auto& sub = net.add(2);
        advertise(net, pub, numbered(300));
        advertise(net, small, {"small"});
        sub.node.set_interest(true, net.now());
        ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 301; }, 20s)) << seed;
        // Streams that come and go under loss: the picture is right in the end.
        for (int i = 0; i < 100; ++i) {
            pub.node.withdraw("uid-s" + std::to_string(100'000 + i));
            pub.node.announce(net.now());
            net.run_for(3ms);
            advertise(net, pub, {"t" + std::to_string(i)});
        }
        ASSERT_TRUE(net.run_until(
            [&] {
                const auto names = sub.names();
                return names.size() == 301 && std::ranges::count(names, "s100000") == 0 &&
                       std::ranges::count(names, "t99") == 1 && sub.node.registry().complete();
            },
            30s))
            << seed;
    }
}

TEST(Beacon, ReorderedAndDoubledDatagramsBringNothingBack) {
    fake_network net(3, {.loss = 0, .doubling = 0.5, .least_delay = 0us, .most_delay = 30ms});
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    for (int i = 0; i < 200; ++i) {
        advertise(net, pub, {"s"});
        net.run_for(1ms);
        pub.node.withdraw("uid-s");
        pub.node.announce(net.now());
        net.run_for(1ms);
    }
    net.run_for(5s);
    EXPECT_TRUE(sub.names().empty());
}

TEST(Beacon, FiftyProcessesOfAHostAreFound) {
    fake_network net;
    for (const std::string& name : numbered(50))
        advertise(net, net.add(1), {name});
    auto& sub = net.add(1);
    sub.node.set_interest(true, net.now());
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 50; }, 100ms));
    EXPECT_EQ(sub.names(), numbered(50));
}

TEST(Beacon, SessionsDoNotSeeEachOther) {
    fake_network net;
    advertise(net, net.add(1, "lab-a"), {"a"});
    advertise(net, net.add(1, "lab-b"), {"b"});
    auto& sub = net.add(2, "lab-b");
    sub.node.set_interest(true, net.now());
    net.run_for(5s);
    EXPECT_EQ(sub.names(), std::vector<std::string>{"b"});
    EXPECT_GT(sub.node.counters().foreign, 0u);
    EXPECT_EQ(sub.node.counters().malformed, 0u);
}

TEST(Beacon, AnUnicastQuestionReachesEveryProcessOfTheHost) {
    fake_network net;
    net.multicast_cut = true; // only unicasts get from host to host
    for (const std::string& name : numbered(5))
        advertise(net, net.add(1), {name});
    auto& sub = net.add(2);
    sub.node.set_peers({net.common_address(1)}, net.now());
    sub.node.set_interest(true, net.now());
    ASSERT_TRUE(net.run_until([&] { return sub.names().size() == 5; }, 100ms));
    net.run_for(30s);
    EXPECT_EQ(sub.names(), numbered(5)) << "they stay, although only answers are heard";
}

TEST(Beacon, AKnownPeerHearsOfStreamsWithoutKnowingUs) {
    fake_network net;
    net.multicast_cut = true;
    auto& pub = net.add(1);
    pub.node.set_peers({net.common_address(2)}, net.now());
    auto& first = net.add(2);
    auto& second = net.add(2); // gets the unicasts, and passes them on
    first.node.set_interest(true, net.now());
    second.node.set_interest(true, net.now());
    advertise(net, pub, numbered(100));
    ASSERT_TRUE(net.run_until([&] { return first.names().size() == 100 && second.names().size() == 100; }, 10s));
    EXPECT_GT(second.node.counters().passed_on, 0u);
    EXPECT_EQ(first.node.registry().streams().at(0).endpoints, std::vector<std::string>{"zmq+tcp://10.0.0.1:5000"})
        << "what is passed on says where it came from";
}

TEST(Beacon, ACutNetworkIsFoundAgain) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    advertise(net, pub, {"EEG"});
    sub.node.set_interest(true, net.now());
    net.run_for(2s);
    net.cut = true;
    net.run_for(10s);
    EXPECT_TRUE(sub.names().empty());
    net.cut = false;
    pub.node.network_changed(net.now());
    sub.node.network_changed(net.now());
    EXPECT_TRUE(net.run_until([&] { return !sub.names().empty(); }, 10ms));
}

TEST(Beacon, OwnStreamsAreFoundWithoutANetwork) {
    fake_network net;
    auto& only = net.add(1);
    advertise(net, only, numbered(50));
    only.node.set_interest(true, net.now());
    EXPECT_EQ(only.names(), numbered(50));
    EXPECT_EQ(only.node.registry().streams().at(0).endpoints, std::vector<std::string>{"zmq+tcp://127.0.0.1:5000"});
    advertise(net, only, {"t"});
    EXPECT_EQ(only.names().size(), 51u);
    net.run_for(10s);
    EXPECT_EQ(only.names().size(), 51u);
    only.node.withdraw("uid-t");
    only.node.announce(net.now());
    EXPECT_EQ(only.names(), numbered(50));
}

TEST(Beacon, ASettledSearchHasFoundAll) {
    fake_network net;
    advertise(net, net.add(1), numbered(500));
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    const auto began = net.now();
    ASSERT_TRUE(net.run_until([&] { return sub.node.settles_at(300ms) <= net.now(); }, 5s));
    EXPECT_EQ(sub.names().size(), 500u);
    EXPECT_GE(net.now() - began, 300ms);
    EXPECT_LE(net.now() - began, 700ms);
}

TEST(Beacon, ASearchThatFindsNothingSettlesToo) {
    fake_network net;
    auto& sub = net.add(2);
    EXPECT_EQ(sub.node.settles_at(300ms), platform::time_point::max());
    sub.node.set_interest(true, net.now());
    const auto began = net.now();
    ASSERT_TRUE(net.run_until([&] { return sub.node.settles_at(300ms) <= net.now(); }, 5s));
    EXPECT_LE(net.now() - began, 700ms);
}

TEST(Beacon, WhoIsNotInterestedKeepsNothing) {
    fake_network net;
    auto& sub = net.add(2);
    advertise(net, net.add(1), numbered(100));
    net.run_for(3s);
    EXPECT_EQ(sub.node.registry().participants(), 0u);
    sub.node.set_interest(true, net.now());
    net.run_for(1s);
    EXPECT_EQ(sub.names().size(), 100u);
    sub.node.set_interest(false, net.now());
    EXPECT_EQ(sub.node.registry().participants(), 0u);
    EXPECT_EQ(sub.node.next_turn(), platform::time_point::max()) << "nothing to do, nothing to wake up for";
}

// --- hostile input --------------------------------------------------------------------------------------------------

TEST(HostileBeacons, GarbageIsIgnoredAndCounted) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    advertise(net, pub, {"EEG"});
    std::minstd_rand random(7);
    for (int i = 0; i < 1000; ++i) {
        datagram bytes(random() % 1500);
        for (std::byte& b : bytes)
            b = static_cast<std::byte>(random());
        sub.node.on_datagram(bytes, {net.common_address(9), false, false}, net.now());
    }
    net.run_for(1s);
    EXPECT_EQ(sub.names(), std::vector<std::string>{"EEG"});
    EXPECT_EQ(sub.node.counters().malformed, 1000u);
}

TEST(HostileBeacons, AFloodOfParticipantsAndQuestionsIsBounded) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    advertise(net, pub, {"EEG"});
    net.run_for(100ms);
    const std::uint64_t key = lab_key("default", "239.255.83.76", "ff05::1");
    for (int i = 0; i < 20'000; ++i) {
        participant_id id{};
        std::memcpy(id.data(), &i, sizeof i);
        beacon b;
        b.revision = 5;
        b.total = 1'000'000;
        sub.node.on_datagram(encode_beacon(key, id, b, {}), {net.common_address(9), false, false}, net.now());
        query q;
        q.id = static_cast<std::uint32_t>(i);
        q.spread_ms = static_cast<std::uint32_t>(i % 3);
        pub.node.on_datagram(encode_query(key, id, q), {net.common_address(9), false, false}, net.now());
    }
    EXPECT_LE(sub.node.registry().participants(), 4096u);
    EXPECT_GT(sub.node.counters().refused, 0u);
    EXPECT_LE(pub.node.counters().answered, 5000u);
    EXPECT_GT(pub.node.counters().refused, 0u);
    net.run_for(10s);
    EXPECT_EQ(sub.names(), std::vector<std::string>{"EEG"});
    EXPECT_EQ(sub.node.registry().participants(), 1u) << "those who never came back are forgotten";
}

TEST(HostileBeacons, NobodyTakesAwayOrTakesOverAnothersStream) {
    fake_network net;
    auto& pub = net.add(1);
    auto& sub = net.add(2);
    sub.node.set_interest(true, net.now());
    advertise(net, pub, {"EEG"});
    net.run_for(100ms);
    const std::uint64_t key = lab_key("default", "239.255.83.76", "ff05::1");
    beacon b;
    b.revision = 5;
    b.base = 4;
    b.parts = 1;
    std::size_t left_out = 0;
    advert stolen = make_advert("stolen", "uid-EEG");
    const datagram gone = encode_gone("uid-EEG"), item = encode_advert(stolen, left_out);
    for (const bytes_view bytes : {bytes_view(gone), bytes_view(item)}) {
        const bytes_view items[] = {bytes};
        sub.node.on_datagram(encode_beacon(key, {std::byte{9}}, b, items), {net.common_address(9), false, false},
                             net.now());
        ++b.revision;
    }
    EXPECT_EQ(sub.names(), std::vector<std::string>{"EEG"});
}

TEST(HostileBeacons, OnlyProcessesOfThisHostMayPassOn) {
    fake_network net;
    auto& pub = net.add(1);
    advertise(net, pub, {"EEG"});
    const std::uint64_t key = lab_key("default", "239.255.83.76", "ff05::1");
    const auto reflected = net.add(3).address();
    const datagram bytes = encode_passed_on(encode_query(key, {std::byte{9}}, {}), reflected);
    pub.node.on_datagram(bytes, {net.common_address(9), false, false}, net.now());
    EXPECT_EQ(pub.node.counters().answered, 0u);
    EXPECT_EQ(pub.node.counters().malformed, 1u);
    pub.node.on_datagram(bytes, {net.common_address(1), false, true}, net.now());
    EXPECT_EQ(pub.node.counters().answered, 1u);
}

} // namespace
} // namespace rivulet::discovery
