// Authenticated beacons, and who tries to get around that.
#include "fake_beacons.hpp"

#include <discovery/beacon_guard.hpp>

#include <gtest/gtest.h>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;
using support::fake_network;
using support::make_advert;

constexpr std::uint64_t lab = 17;

security::secret_bytes a_key() { return security::secret_bytes(security::random_key()); }

udp_address somewhere() {
    udp_address out;
    out.bytes = {10, 9, 9, 9};
    out.port = 999;
    return out;
}

// --- the window -----------------------------------------------------------------------------------------------------

TEST(ReplayWindow, TakesEachNumberOnceInAnyOrder) {
    std::minstd_rand random(3);
    std::vector<std::uint64_t> numbers(5000);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = i + 1;
    for (std::size_t begin = 0; begin < numbers.size(); begin += 500)
        std::shuffle(numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                     numbers.begin() + static_cast<std::ptrdiff_t>(begin + 500), random);
    replay_window window;
    for (const std::uint64_t n : numbers)
        EXPECT_TRUE(window.take(n)) << n;
    for (const std::uint64_t n : numbers)
        EXPECT_FALSE(window.take(n)) << n;
}

TEST(ReplayWindow, WhatIsTooOldToTellIsRefused) {
    replay_window window;
    EXPECT_FALSE(window.take(0));
    EXPECT_TRUE(window.take(10));
    EXPECT_TRUE(window.take(10 + replay_window::size));
    EXPECT_FALSE(window.take(10));
    EXPECT_TRUE(window.take(11));
    EXPECT_TRUE(window.take(UINT64_MAX));
    EXPECT_FALSE(window.take(12));
    window.close();
    EXPECT_FALSE(window.take(UINT64_MAX - 5));
}

// --- the envelope ---------------------------------------------------------------------------------------------------

datagram a_beacon(std::uint64_t key = lab) {
    std::size_t left_out = 0;
    const datagram item = encode_advert(make_advert("EEG", "u1"), left_out);
    const bytes_view items[] = {item};
    beacon head;
    head.revision = 1;
    head.parts = 1;
    head.total = 1;
    return encode_beacon(key, make_participant_id(), head, items);
}

TEST(BeaconGuard, OpensWhatItSealedAndNumbersIt) {
    beacon_guard guard(a_key(), lab);
    const datagram plain = a_beacon();
    for (std::uint64_t i = 1; i < 4; ++i) {
        const datagram sealed = guard.seal(plain);
        beacon_guard::opened out;
        ASSERT_EQ(guard.open(sealed, out), beacon_error::none);
        EXPECT_TRUE(std::ranges::equal(out.plain, plain));
        EXPECT_EQ(out.counter, i);
        EXPECT_FALSE(out.origin);
    }
}

TEST(BeaconGuard, NoBitCanBeChanged) {
    beacon_guard guard(a_key(), lab);
    const datagram sealed = guard.seal(a_beacon());
    for (std::size_t i = 0; i < sealed.size() * 8; ++i) {
        datagram changed = sealed;
        changed[i / 8] ^= std::byte{1} << (i % 8);
        beacon_guard::opened out;
        EXPECT_NE(guard.open(changed, out), beacon_error::none) << "bit " << i;
    }
    for (std::size_t size = 0; size < sealed.size(); ++size) {
        beacon_guard::opened out;
        EXPECT_NE(guard.open(bytes_view(sealed).first(size), out), beacon_error::none) << size;
    }
}

TEST(BeaconGuard, TellsOtherKeysAndPlainBeaconsFromOtherLabs) {
    beacon_guard guard(a_key(), lab), stranger(a_key(), lab), neighbour(a_key(), lab + 1);
    beacon_guard::opened out;
    EXPECT_EQ(guard.open(stranger.seal(a_beacon()), out), beacon_error::unauthenticated);
    EXPECT_EQ(guard.open(a_beacon(), out), beacon_error::unauthenticated);
    EXPECT_EQ(guard.open(neighbour.seal(a_beacon()), out), beacon_error::foreign_lab);
    EXPECT_EQ(guard.open(a_beacon(lab + 1), out), beacon_error::foreign_lab);
    EXPECT_EQ(guard.open(datagram(50), out), beacon_error::malformed);
    EXPECT_EQ(guard.open(datagram(5000), out), beacon_error::too_large);
}

TEST(BeaconGuard, WhoPassesOnVouchesForWhereItCameFrom) {
    const security::secret_bytes key = a_key();
    beacon_guard guard(key, lab), stranger(a_key(), lab);
    const datagram sealed = guard.seal(a_beacon());
    beacon_guard::opened out;
    ASSERT_EQ(guard.open(guard.pass_on(sealed, somewhere()), out), beacon_error::none);
    EXPECT_EQ(out.origin, somewhere());
    EXPECT_EQ(guard.open(stranger.pass_on(sealed, somewhere()), out), beacon_error::unauthenticated);
    datagram changed = guard.pass_on(sealed, somewhere());
    for (std::size_t i = sealed.size() - 1; i < changed.size(); ++i) {
        changed[i] ^= std::byte{1};
        EXPECT_NE(guard.open(changed, out), beacon_error::none) << i;
        changed[i] ^= std::byte{1};
    }
}

TEST(BeaconGuard, OnlyFreshAnswersProve) {
    beacon_guard guard(a_key(), lab);
    const auto begin = platform::time_point(1h);
    const participant_id sender = make_participant_id();
    bool refused = false;
    ASSERT_TRUE(guard.take(sender, 5, begin, refused));
    EXPECT_FALSE(guard.take(sender, 4, begin, refused)) << "older than the first that was heard";
    EXPECT_FALSE(guard.proven(sender, std::nullopt, begin));
    EXPECT_FALSE(guard.proven(sender, make_participant_id(), begin));
    EXPECT_FALSE(guard.proven(sender, nonce{}, begin)) << "nothing was asked yet";
    const nonce asked = guard.question(begin);
    EXPECT_FALSE(guard.proven(sender, asked, begin + 31s)) << "so late it may have been recorded";
    ASSERT_TRUE(guard.take(sender, 9, begin + 1s, refused));
    EXPECT_TRUE(guard.proven(sender, asked, begin + 1s));
    EXPECT_TRUE(guard.proven(sender, std::nullopt, begin + 5s)) << "it counts on";
    EXPECT_FALSE(guard.take(sender, 8, begin + 2s, refused)) << "from before the proof";
    EXPECT_TRUE(guard.take(sender, 10, begin + 2s, refused));
    EXPECT_NE(guard.question(begin + 15s), asked) << "nonces are not used for long";
    ASSERT_TRUE(guard.take(sender, 11, begin + 100s, refused)) << "silent for so long that it is forgotten";
    EXPECT_FALSE(guard.proven(sender, std::nullopt, begin + 100s)) << "has to prove it again";
}

TEST(BeaconGuard, SendersDoNotFillMemory) {
    beacon_guard guard(a_key(), lab);
    const auto begin = platform::time_point(1h);
    bool refused = false;
    for (std::size_t i = 0; i < beacon_guard::most_senders; ++i)
        ASSERT_TRUE(guard.take(make_participant_id(), 1, begin, refused));
    EXPECT_FALSE(guard.take(make_participant_id(), 1, begin + 1s, refused));
    EXPECT_TRUE(refused);
    EXPECT_TRUE(guard.take(make_participant_id(), 1, begin + 61s, refused)) << "the silent ones make room";
}

// --- nodes ----------------------------------------------------------------------------------------------------------

struct sealed_lab {
    fake_network net;
    security::secret_bytes key = a_key();

    fake_network::process& add(int host) { return net.add(host, "default", 1000ms, key); }
    fake_network::process& stranger(int host) { return net.add(host); }
    fake_network::process& other_key(int host) { return net.add(host, "default", 1000ms, a_key()); }
    void advertise(fake_network::process& p, const std::string& name, const std::string& uid) {
        p.node.advertise(make_advert(name, uid), net.now());
        p.node.announce(net.now());
    }
    void hear(fake_network::process& victim, bytes_view bytes) {
        victim.node.on_datagram(bytes, {somewhere(), false, false}, net.now());
    }
};

using names = std::vector<std::string>;

TEST(SealedBeacons, AStreamIsFoundInMilliseconds) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    l.advertise(pub, "EEG", "u1");
    l.net.run_for(300ms);
    const auto began = l.net.now();
    sub.node.set_interest(true, l.net.now());
    ASSERT_TRUE(l.net.run_until([&] { return sub.names() == names{"EEG"}; }, 5s));
    EXPECT_LE(l.net.now() - began, 2ms);
    l.net.run_for(20s);
    EXPECT_EQ(sub.names(), names{"EEG"}) << "it counts on";
    EXPECT_EQ(sub.node.counters().replayed, 0u);
    EXPECT_EQ(sub.node.counters().unauthenticated, 0u);
}

TEST(SealedBeacons, WhoAppearsLaterIsAskedBeforeItIsBelieved) {
    sealed_lab l;
    auto& sub = l.add(2);
    sub.node.set_interest(true, l.net.now());
    l.net.run_for(10s);
    auto& pub = l.add(1);
    const auto began = l.net.now();
    l.advertise(pub, "EEG", "u1");
    ASSERT_TRUE(l.net.run_until([&] { return sub.names() == names{"EEG"}; }, 5s));
    EXPECT_LE(l.net.now() - began, 5ms);
    EXPECT_GE(sub.node.counters().unproven, 1u);
}

TEST(SealedBeacons, AThousandStreamsFitTheirDatagrams) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    for (int i = 0; i < 1000; ++i)
        pub.node.advertise(make_advert("s" + std::to_string(i), "u" + std::to_string(i)), l.net.now());
    pub.node.announce(l.net.now());
    sub.node.set_interest(true, l.net.now());
    ASSERT_TRUE(l.net.run_until([&] { return sub.names().size() == 1000; }, 20s));
    EXPECT_LE(sub.largest, max_datagram_bytes);
    EXPECT_LE(pub.largest, max_datagram_bytes);
}

TEST(SealedBeacons, LossAndDoublingOnlyTakeTime) {
    sealed_lab l;
    l.net.faults = {.loss = 0.2, .doubling = 0.3};
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    for (int i = 0; i < 100; ++i)
        pub.node.advertise(make_advert("s" + std::to_string(i), "u" + std::to_string(i)), l.net.now());
    pub.node.announce(l.net.now());
    sub.node.set_interest(true, l.net.now());
    ASSERT_TRUE(l.net.run_until([&] { return sub.names().size() == 100; }, 60s));
    EXPECT_GT(sub.node.counters().replayed, 0u) << "what was doubled is taken once";
}

TEST(SealedBeacons, KnownPeersAreFoundByUnicastAndPassedOn) {
    sealed_lab l;
    auto& first = l.add(1);
    auto& second = l.add(1); // gets what comes to the host by unicast
    auto& sub = l.add(2);
    l.net.multicast_cut = true;
    l.advertise(first, "a", "u1");
    l.advertise(second, "b", "u2");
    sub.node.set_peers({l.net.common_address(1)}, l.net.now());
    sub.node.set_interest(true, l.net.now());
    ASSERT_TRUE(l.net.run_until([&] { return sub.names() == names{"a", "b"}; }, 10s));
    EXPECT_GT(second.node.counters().passed_on, 0u);
}

TEST(SealedBeacons, StrangersAreNeitherHeardNorAnswered) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    auto& plain = l.stranger(3);
    auto& other = l.other_key(4);
    for (auto* p : {&sub, &plain, &other})
        p->node.set_interest(true, l.net.now());
    l.advertise(pub, "EEG", "u1");
    l.advertise(plain, "plain", "u2");
    l.advertise(other, "other", "u3");
    l.net.run_for(10s);
    EXPECT_EQ(sub.names(), names{"EEG"});
    EXPECT_EQ(plain.names(), names{"plain"}) << "knows its own only";
    EXPECT_EQ(other.names(), names{"other"});
    EXPECT_GT(sub.node.counters().unauthenticated, 0u);
    EXPECT_GT(pub.node.counters().unauthenticated, 0u);
    EXPECT_GT(plain.node.counters().foreign, 0u);
}

/// Everything that was sent, recorded.
std::vector<datagram> record(sealed_lab& l, std::chrono::nanoseconds duration) {
    std::vector<datagram> out;
    l.net.tap = [&](bytes_view bytes) { out.emplace_back(bytes.begin(), bytes.end()); };
    l.net.run_for(duration);
    l.net.tap = {};
    return out;
}

TEST(SealedBeacons, ReplayedBeaconsBringNoDeadStreamBack) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    sub.node.set_interest(true, l.net.now());
    l.advertise(pub, "EEG", "u1");
    const auto recorded = record(l, 10s);
    ASSERT_EQ(sub.names(), names{"EEG"});
    l.net.kill(pub);
    ASSERT_TRUE(l.net.run_until([&] { return sub.names().empty(); }, 20s));
    // At once, and when the one who was recorded is long forgotten.
    for (int round = 0; round < 4; ++round) {
        for (const datagram& bytes : recorded)
            l.hear(sub, bytes);
        l.net.run_for(40s);
        EXPECT_TRUE(sub.names().empty()) << round;
    }
    EXPECT_GT(sub.node.counters().replayed, 0u);
    // Nor for somebody who was not there when they were sent.
    auto& late = l.add(3);
    late.node.set_interest(true, l.net.now());
    l.net.run_for(1s);
    for (const datagram& bytes : recorded)
        l.hear(late, bytes);
    l.net.run_for(1s);
    EXPECT_TRUE(late.names().empty());
    EXPECT_GT(late.node.counters().unproven, 0u);
}

TEST(SealedBeacons, AReplayedGoodbyeEndsNothing) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    sub.node.set_interest(true, l.net.now());
    l.advertise(pub, "a", "u1");
    l.advertise(pub, "b", "u2");
    l.net.run_for(3s);
    std::vector<datagram> goodbye;
    l.net.tap = [&](bytes_view bytes) { goodbye.emplace_back(bytes.begin(), bytes.end()); };
    pub.node.withdraw("u1");
    pub.node.announce(l.net.now());
    l.net.run_for(10ms);
    l.net.tap = {};
    l.advertise(pub, "a", "u1"); // it is back
    l.net.run_for(1s);
    ASSERT_EQ(sub.names(), (names{"a", "b"}));
    for (const datagram& bytes : goodbye)
        l.hear(sub, bytes);
    EXPECT_EQ(sub.names(), (names{"a", "b"}));
    EXPECT_GT(sub.node.counters().replayed, 0u);
}

TEST(SealedBeacons, ASpoofedGoodbyeForSomebodyElsesStreamIsIgnored) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    sub.node.set_interest(true, l.net.now());
    participant_id owner{};
    l.net.tap = [&](bytes_view bytes) { // what is said in the clear, an attacker can read
        beacon_guard reader(l.key, lab_key("default", "239.255.83.76", "ff05::1"));
        beacon_guard::opened out;
        message m;
        if (reader.open(bytes, out) == beacon_error::none &&
            decode(out.plain, lab_key("default", "239.255.83.76", "ff05::1"), m) == beacon_error::none &&
            std::holds_alternative<beacon>(m.body))
            owner = m.sender;
    };
    l.advertise(pub, "EEG", "u1");
    l.net.run_for(3s);
    l.net.tap = {};
    ASSERT_EQ(sub.names(), names{"EEG"});
    ASSERT_NE(owner, participant_id{});
    beacon head;
    head.revision = 1000;
    head.base = 1;
    head.parts = 1;
    const datagram item = encode_gone("u1");
    const bytes_view items[] = {item};
    const std::uint64_t key = lab_key("default", "239.255.83.76", "ff05::1");
    const datagram forged = encode_beacon(key, owner, head, items);
    const std::uint64_t before = sub.node.counters().unauthenticated;
    l.hear(sub, forged);                                  // plain
    l.hear(sub, beacon_guard(a_key(), key).seal(forged)); // with some key
    EXPECT_EQ(sub.names(), names{"EEG"});
    EXPECT_EQ(sub.node.counters().unauthenticated, before + 2);
    // The test is not vain: the owner's key does it.
    beacon_guard with_key(l.key, key);
    for (int i = 0; i < 500; ++i)
        with_key.seal(forged); // numbers that are still to come
    l.hear(sub, with_key.seal(forged));
    EXPECT_TRUE(sub.names().empty());
}

TEST(SealedBeacons, QuestionsOfStrangersAndOldOnesAreNotAnswered) {
    sealed_lab l;
    auto& pub = l.add(1);
    auto& sub = l.add(2);
    l.advertise(pub, "EEG", "u1");
    std::vector<datagram> recorded;
    l.net.tap = [&](bytes_view bytes) { recorded.emplace_back(bytes.begin(), bytes.end()); };
    sub.node.set_interest(true, l.net.now());
    l.net.run_for(2s);
    l.net.tap = {};
    const std::uint64_t answered = pub.node.counters().answered;
    for (const datagram& bytes : recorded)
        l.hear(pub, bytes);
    EXPECT_EQ(pub.node.counters().answered, answered) << "sends nothing to where a replay says that it comes from";
    EXPECT_GT(pub.node.counters().replayed, 0u);
}

TEST(SealedBeacons, DuplicateSourcesAreStillNoticed) {
    sealed_lab l;
    auto& first = l.add(1);
    auto& second = l.add(2);
    advert one = make_advert("EEG", "u1"), two = make_advert("EEG", "u2");
    first.node.advertise(one, l.net.now());
    first.node.announce(l.net.now());
    l.net.run_for(5s);
    second.node.advertise(two, l.net.now());
    second.node.announce(l.net.now());
    l.net.run_for(3s);
    EXPECT_EQ(first.node.take_conflicts().size(), 1u);
    EXPECT_EQ(second.node.take_conflicts().size(), 1u);
}

TEST(PlainStreams, ArePassedOverWhereTheyMayNotBeUsed) {
    fake_network net;
    auto& pub = net.add(1);
    discovery::node_options options;
    options.key = lab_key("default", "239.255.83.76", "ff05::1");
    options.id = make_participant_id();
    options.acceptable = [](std::string_view endpoint) { return endpoint.find("?key=") != std::string_view::npos; };
    auto& sub = net.add(2, options);
    sub.node.set_interest(true, net.now());
    advert plain = make_advert("EEG", "u1"), secure = make_advert("EEG", "u2");
    secure.endpoints = {"zmq+tcp://*:5001?key=0123456789abcdef", "posix+tcp://*:5002"};
    pub.node.advertise(plain, net.now());
    pub.node.advertise(secure, net.now());
    pub.node.announce(net.now());
    net.run_for(5s);
    const auto streams = sub.node.registry().streams();
    ASSERT_EQ(streams.size(), 1u) << "the plain one of the same name and source is not there";
    EXPECT_EQ(streams[0].info.uid, "u2");
    EXPECT_EQ(streams[0].endpoints, std::vector<std::string>{"zmq+tcp://10.0.0.1:5001?key=0123456789abcdef"});
    EXPECT_EQ(sub.node.take_unusable(), std::vector<std::string>{"EEG"});
    EXPECT_LT(sub.datagrams_received, 50u) << "it does not ask again and again for what it passes over";
}

} // namespace
} // namespace rivulet::discovery
