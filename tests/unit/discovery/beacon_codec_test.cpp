#include <discovery/beacon_codec.hpp>

#include <cstring>
#include <gtest/gtest.h>

namespace rivulet::discovery {
namespace {

const std::uint64_t key = lab_key("lab", "239.1.2.3", "ff05::1");

participant_id id(std::uint8_t first) {
    participant_id out{};
    out[0] = std::byte{first};
    return out;
}

advert full_advert() {
    advert a;
    a.info.name = "EEG \u00e9";
    a.info.type = "EEG";
    a.info.channel_count = 64;
    a.info.nominal_rate_hz = 1000;
    a.info.format = channel_format::int16;
    a.info.source_id = "amp-17";
    a.info.uid = "0123456789abcdef0123456789abcdef";
    a.info.created_at = 12.5;
    a.endpoints = {"zmq+tcp://*:5000", "zmq+ipc:///tmp/a.sock"};
    a.service = {"zmq+tcp://*:5001"};
    return a;
}

beacon head() {
    beacon b;
    b.revision = 300;
    b.base = 299;
    b.part = 1;
    b.parts = 3;
    b.total = 17;
    b.interval_ms = 500;
    b.host = "lab-3";
    return b;
}

datagram beacon_with(const beacon& b, const advert& a) {
    std::size_t left_out = 0;
    const datagram item = encode_advert(a, left_out);
    const bytes_view items[] = {item};
    return encode_beacon(key, id(1), b, items);
}

TEST(BeaconCodec, ARelayedStreamSaysWhereItComesFrom) {
    advert relayed = full_advert();
    relayed.info.origin = "feedface";
    relayed.info.relays = {"one", "two"};
    message m;
    ASSERT_EQ(decode(beacon_with(head(), relayed), key, m), beacon_error::none);
    const stream_info& came = std::get<beacon>(m.body).adverts.at(0).info;
    EXPECT_EQ(came.origin, relayed.info.origin);
    EXPECT_EQ(came.relays, relayed.info.relays);
    EXPECT_FALSE(relayed == full_advert()) << "a change to be told of";
}

TEST(BeaconCodec, ABeaconComesBackAsItWas) {
    std::size_t left_out = 0;
    const datagram item = encode_advert(full_advert(), left_out);
    const datagram gone = encode_gone("feedface");
    const bytes_view items[] = {item, gone};
    const datagram bytes = encode_beacon(key, id(7), head(), items);
    EXPECT_LE(bytes.size(), max_datagram_bytes);
    message m;
    ASSERT_EQ(decode(bytes, key, m), beacon_error::none);
    EXPECT_EQ(m.sender, id(7));
    EXPECT_FALSE(m.origin);
    const auto& b = std::get<beacon>(m.body);
    EXPECT_EQ(b.revision, 300u);
    EXPECT_EQ(b.base, 299u);
    EXPECT_EQ(b.part, 1u);
    EXPECT_EQ(b.parts, 3u);
    EXPECT_EQ(b.total, 17u);
    EXPECT_EQ(b.interval_ms, 500u);
    EXPECT_EQ(b.host, "lab-3");
    ASSERT_EQ(b.adverts.size(), 1u);
    advert expected = full_advert();
    expected.info.host = "lab-3";
    EXPECT_TRUE(b.adverts[0] == expected);
    EXPECT_EQ(b.gone, std::vector<std::string>{"feedface"});
}

TEST(BeaconCodec, AQueryComesBackAsItWas) {
    query q;
    q.id = 77;
    q.to = id(9);
    q.base = 5;
    q.revision = std::uint64_t{1} << 40;
    q.first_part = 32;
    q.wanted = 0x80000001;
    q.spread_ms = 45;
    q.to_group = true;
    message m;
    ASSERT_EQ(decode(encode_query(key, id(1), q), key, m), beacon_error::none);
    const auto& back = std::get<query>(m.body);
    EXPECT_EQ(back.id, q.id);
    EXPECT_EQ(back.to, q.to);
    EXPECT_EQ(back.base, q.base);
    EXPECT_EQ(back.revision, q.revision);
    EXPECT_EQ(back.first_part, q.first_part);
    EXPECT_EQ(back.wanted, q.wanted);
    EXPECT_EQ(back.spread_ms, q.spread_ms);
    EXPECT_TRUE(back.to_group);
    ASSERT_EQ(decode(encode_query(key, id(1), {}), key, m), beacon_error::none);
    EXPECT_FALSE(std::get<query>(m.body).to);
}

TEST(BeaconCodec, WhatIsPassedOnSaysWhereItCameFrom) {
    for (const char* host : {"10.1.2.3", "2001:db8::7"}) {
        const auto origin = parse_udp_address(host, 4711);
        ASSERT_TRUE(origin);
        const datagram original = beacon_with(head(), full_advert());
        const datagram bytes = encode_passed_on(original, *origin);
        EXPECT_LE(bytes.size(), original.size() + max_passed_on_bytes - max_datagram_bytes);
        message m;
        ASSERT_EQ(decode(bytes, key, m), beacon_error::none);
        EXPECT_EQ(m.origin, origin);
        EXPECT_EQ(std::get<beacon>(m.body).adverts.size(), 1u);
    }
}

TEST(BeaconCodec, ForeignLabsAndVersionsAreToldApart) {
    datagram bytes = encode_query(key, id(1), {});
    message m;
    EXPECT_EQ(decode(bytes, lab_key("lab2", "239.1.2.3", "ff05::1"), m), beacon_error::foreign_lab);
    EXPECT_EQ(decode(bytes, lab_key("lab", "239.1.2.4", "ff05::1"), m), beacon_error::foreign_lab);
    EXPECT_EQ(decode(bytes, lab_key("lab", "239.1.2.3", "ff05::2"), m), beacon_error::foreign_lab);
    EXPECT_NE(lab_key("ab", "c", ""), lab_key("a", "bc", ""));
    bytes[5] = std::byte{2};
    EXPECT_EQ(decode(bytes, key, m), beacon_error::foreign_version);
}

TEST(BeaconCodec, EveryCutAndEveryExtraByteIsRefused) {
    datagram bytes = beacon_with(head(), full_advert());
    message m;
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_NE(decode(std::span(bytes).first(size), key, m), beacon_error::none) << size;
    bytes.push_back(std::byte{0xc0});
    EXPECT_NE(decode(bytes, key, m), beacon_error::none);
    bytes.resize(max_passed_on_bytes + 1);
    EXPECT_EQ(decode(bytes, key, m), beacon_error::too_large);
}

TEST(BeaconCodec, AnyFlippedByteIsRefusedOrReadWithinTheLimits) {
    const datagram bytes = beacon_with(head(), full_advert());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        for (const unsigned mask : {0x01u, 0x80u, 0xffu}) {
            datagram changed = bytes;
            changed[i] ^= static_cast<std::byte>(mask);
            message m;
            if (decode(changed, key, m) != beacon_error::none)
                continue;
            if (const auto* b = std::get_if<beacon>(&m.body)) {
                for (const advert& a : b->adverts) {
                    EXPECT_NO_THROW(validate(a.info));
                }
            }
        }
}

TEST(BeaconCodec, FieldsOutOfRangeAreRefused) {
    const auto refused = [](auto change) {
        beacon b = head();
        advert a = full_advert();
        change(b, a);
        message m;
        return decode(beacon_with(b, a), key, m) == beacon_error::malformed;
    };
    EXPECT_FALSE(refused([](beacon&, advert&) {}));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.part = 3; }));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.base = 301; }));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.interval_ms = 0; }));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.interval_ms = 60'001; }));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.host = "a\nb"; }));
    EXPECT_TRUE(refused([](beacon& b, advert&) { b.host = std::string(65, 'x'); }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.name = ""; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.name = "a\033[2J"; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.uid = "../../x"; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.uid = ""; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.channel_count = 0; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.nominal_rate_hz = -1; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.info.format = static_cast<channel_format>(99); }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.endpoints = {"no endpoint"}; }));
    EXPECT_TRUE(refused([](beacon&, advert& a) { a.service = {"x://\n"}; }));
}

TEST(BeaconCodec, TheLongestNamesFitIntoADatagram) {
    advert a = full_advert();
    a.info.name = std::string(256, 'n');
    a.info.type = std::string(256, 't');
    a.info.source_id = std::string(256, 's');
    a.info.uid = std::string(64, 'u');
    a.info.channel_count = 1u << 20;
    a.endpoints = {"zmq+tcp://192.168.100.100:65535"};
    a.service = {};
    std::size_t left_out = 9;
    ASSERT_FALSE(encode_advert(a, left_out).empty());
    EXPECT_EQ(left_out, 0u);
    beacon b;
    b.revision = b.base = UINT64_MAX;
    b.parts = 1u << 16;
    b.total = UINT32_MAX;
    b.interval_ms = 60'000;
    b.host = std::string(64, 'h');
    EXPECT_LE(beacon_with(b, a).size(), max_datagram_bytes);
    message m;
    EXPECT_EQ(decode(beacon_with(b, a), key, m), beacon_error::none);
}

TEST(BeaconCodec, EndpointsThatDoNotFitAreLeftOutAndCounted) {
    advert a = full_advert();
    a.endpoints = {"zmq+tcp://*:1", "zmq+ipc:///" + std::string(100, 'a'), "zmq+ipc:///" + std::string(100, 'b')};
    a.info.name = std::string(256, 'n');
    a.info.type = std::string(256, 't');
    a.info.source_id = std::string(256, 's');
    a.service = {"zmq+tcp://*:2", "posix+tcp://*:3", "posix+unix:///" + std::string(100, 'c')};
    std::size_t left_out = 0;
    const datagram item = encode_advert(a, left_out);
    EXPECT_GT(left_out, 0u);
    ASSERT_FALSE(item.empty());
    const bytes_view items[] = {item};
    beacon b = head();
    message m;
    ASSERT_EQ(decode(encode_beacon(key, id(1), b, items), key, m), beacon_error::none);
    const advert& back = std::get<beacon>(m.body).adverts.at(0);
    EXPECT_EQ(back.endpoints.front(), "zmq+tcp://*:1");
    EXPECT_EQ(back.endpoints.size() + back.service.size() + left_out, 6u);
    a.endpoints = {"zmq+tcp://" + std::string(253, 'h') + ":1"};
    EXPECT_TRUE(encode_advert(a, left_out).empty());
}

TEST(BeaconCodec, UnknownKeysOfLaterVersionsAreIgnored) {
    // [tag, 1, key, beacon, sender, {r, q: 0, new: {x: [1]}}, nil]
    datagram bytes;
    for (const int b : std::initializer_list<int>{0x97, 0xa3, 'r', 'v', 'b', 0x01, 0xcf})
        bytes.push_back(static_cast<std::byte>(b));
    for (int i = 7; i >= 0; --i)
        bytes.push_back(static_cast<std::byte>(key >> (8 * i)));
    for (const int b : std::initializer_list<int>{0x00, 0xc4, 0x10})
        bytes.push_back(static_cast<std::byte>(b));
    bytes.resize(bytes.size() + 16);
    for (const int b :
         std::initializer_list<int>{0x82, 0xa1, 'r', 0x05, 0xa3, 'n', 'e', 'w', 0x81, 0xa1, 'x', 0x91, 0x01, 0xc0})
        bytes.push_back(static_cast<std::byte>(b));
    message m;
    ASSERT_EQ(decode(bytes, key, m), beacon_error::none);
    EXPECT_EQ(std::get<beacon>(m.body).revision, 5u);
}

TEST(BeaconCodec, PromisesOfHugeContainersAllocateNothing) {
    for (const auto& bomb : {std::string("\xdd\xff\xff\xff\xff", 5), std::string("\xdf\xff\xff\xff\xff", 5),
                             std::string(1000, '\x91'), std::string("\xc6\xff\xff\xff\xff", 5)}) {
        datagram bytes(bomb.size());
        std::memcpy(bytes.data(), bomb.data(), bomb.size());
        message m;
        EXPECT_EQ(decode(bytes, key, m), beacon_error::malformed);
    }
}

} // namespace
} // namespace rivulet::discovery
