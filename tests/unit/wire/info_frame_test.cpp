#include "wire_test_support.hpp"

#include <allocation_counter.hpp>
#include <rivulet/error.hpp>

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace rivulet::wire {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

info_frame full_frame() {
    info_frame frame;
    frame.info = {.name = "EEG \xc3\xa9",
                  .type = "EEG",
                  .channel_count = 64,
                  .nominal_rate_hz = 1000.0 / 3,
                  .format = channel_format::int16,
                  .source_id = "amp-17"};
    frame.info.channel(1).label("Fp1").unit("microvolts");
    frame.info.desc.append("note", "a\0b"s);
    frame.info.uid = "0123456789abcdef0123456789abcdef";
    frame.info.host = "lab-3";
    frame.info.session = "s1";
    frame.info.created_at = 1234.5;
    frame.order = std::endian::native == std::endian::little ? std::endian::big : std::endian::little;
    frame.info.relays = {"relay-1", "relay-2"};
    frame.info.origin = "fedcba9876543210fedcba9876543210";
    frame.service = {"zmq+tcp://[::1]:5", "posix+tcp://*:6"};
    frame.next_sequence = 1ull << 40;
    return frame;
}

void expect_equal(const info_frame& a, const info_frame& b) {
    EXPECT_EQ(a.info.name, b.info.name);
    EXPECT_EQ(a.info.type, b.info.type);
    EXPECT_EQ(a.info.channel_count, b.info.channel_count);
    EXPECT_EQ(a.info.nominal_rate_hz, b.info.nominal_rate_hz);
    EXPECT_EQ(a.info.format, b.info.format);
    EXPECT_EQ(a.info.source_id, b.info.source_id);
    EXPECT_EQ(a.info.desc, b.info.desc);
    EXPECT_EQ(a.info.uid, b.info.uid);
    EXPECT_EQ(a.info.host, b.info.host);
    EXPECT_EQ(a.info.session, b.info.session);
    EXPECT_EQ(a.info.created_at, b.info.created_at);
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(a.info.origin, b.info.origin);
    EXPECT_EQ(a.info.relays, b.info.relays);
    EXPECT_EQ(a.service, b.service);
    EXPECT_EQ(a.next_sequence, b.next_sequence);
}

/// An info frame by hand: its map, then its metadata tree (a bare root unless given).
byte_string by_hand(const byte_string& map, const byte_string& tree = {0x93, 0xa4, 'd', 'e', 's', 'c', 0xa0, 0x90}) {
    return byte_string{0x95, 0, 1, 0xa1, '<'}.add(map).add(tree);
}

/// The least that a map must hold, and these pairs.
byte_string map_with(int pairs, const byte_string& more = {}) {
    return byte_string{0x83 + pairs}
        .add("\xa4name\xa1x"sv)
        .add("\xa8"
             "channels\x02"sv)
        .add("\xa6"
             "format\x01"sv)
        .add(more);
}

frame_error decode(const byte_string& bytes, const info_limits& limits = {}) {
    info_frame out;
    return decode_info(exact_copy(bytes), out, limits);
}

TEST(InfoFrame, RoundTripsEverything) {
    const info_frame frame = full_frame();
    const auto bytes = encode_info(frame);
    EXPECT_EQ(peek_kind(bytes), 0);
    info_frame out;
    ASSERT_EQ(decode_info(exact_copy(bytes), out), frame_error::none);
    expect_equal(out, frame);
}

TEST(InfoFrame, EveryFormatRoundTrips) {
    for (int format = 1; format <= 8; ++format) {
        info_frame frame;
        frame.info = {.name = "x", .format = static_cast<channel_format>(format)};
        info_frame out;
        ASSERT_EQ(decode_info(encode_info(frame), out), frame_error::none) << format;
        EXPECT_EQ(out.info.format, frame.info.format);
        EXPECT_EQ(out.order, std::endian::native);
    }
}

TEST(InfoFrame, UnknownKeysAreIgnoredAndMissingOnesHaveDefaults) {
    info_frame out;
    const byte_string more = byte_string()
                                 .add("\xa4"
                                      "auth"sv)
                                 .add({0xc4, 2, 1, 2})
                                 .add({7, 0x82, 1, 2, 3, 0x91, 0xc0});
    ASSERT_EQ(decode_info(by_hand(map_with(2, more)), out), frame_error::none);
    EXPECT_EQ(out.info.name, "x");
    EXPECT_EQ(out.info.channel_count, 2u);
    EXPECT_EQ(out.info.format, channel_format::float32);
    EXPECT_EQ(out.info.nominal_rate_hz, irregular);
    EXPECT_EQ(out.info.session, "default");
    EXPECT_EQ(out.order, std::endian::little);
    EXPECT_EQ(out.info.desc, metadata("desc"));
}

TEST(InfoFrame, RatesMayBeIntegersOrShortFloats) {
    info_frame out;
    ASSERT_EQ(decode_info(by_hand(map_with(1, byte_string().add("\xa4rate"sv).add({100}))), out), frame_error::none);
    EXPECT_EQ(out.info.nominal_rate_hz, 100.0);
    ASSERT_EQ(decode_info(by_hand(map_with(1, byte_string().add("\xa4rate\xca"sv).value(2.5f))), out),
              frame_error::none);
    EXPECT_EQ(out.info.nominal_rate_hz, 2.5);
}

TEST(InfoFrame, RefusesStreamsThatCannotBe) {
    const auto with = [](std::string_view key, const byte_string& value) {
        return decode(by_hand(map_with(1, byte_string{static_cast<int>(0xa0 + key.size())}.add(key).add(value))));
    };
    EXPECT_EQ(with("channels", {3}), frame_error::none);
    EXPECT_EQ(with("channels", {0}), frame_error::bad_field);
    EXPECT_EQ(with("channels", {0xff}), frame_error::bad_field);
    EXPECT_EQ(with("channels", byte_string{0xcf}.value(std::uint64_t{1} << 40)), frame_error::bad_field);
    EXPECT_EQ(with("rate", byte_string{0xcb}.value(std::nan(""))), frame_error::bad_field);
    EXPECT_EQ(with("rate", byte_string{0xcb}.value(std::numeric_limits<double>::infinity())), frame_error::bad_field);
    EXPECT_EQ(with("rate", {0xff}), frame_error::bad_field) << "-1 Hz";
    EXPECT_EQ(with("rate", {0xa1, '1'}), frame_error::bad_field);
    for (const int format : {0, 9, 0x7f})
        EXPECT_EQ(with("format", {format}), frame_error::bad_field) << format;
    EXPECT_EQ(with("format", {0xcd, 1, 1}), frame_error::bad_field) << "257 is not 1";
    EXPECT_EQ(with("format", {8}), frame_error::bad_field) << "a blob of two channels";
    EXPECT_EQ(with("name", {0xa0}), frame_error::bad_field);
    EXPECT_EQ(with("name", {0xa1, '\n'}), frame_error::bad_field);
    EXPECT_EQ(with("name", byte_string{0xda, 1, 1}.repeat('n', 257)), frame_error::bad_field);
    EXPECT_EQ(with("uid", byte_string().add("\xa4../x"sv)), frame_error::bad_field) << "unsafe in a file name";
    EXPECT_EQ(with("uid", byte_string{0xd9, 65}.repeat('a', 65)), frame_error::bad_field);
    EXPECT_EQ(with("host", {0xa1, 7}), frame_error::bad_field);
    EXPECT_EQ(with("created_at", byte_string{0xcb}.value(std::nan(""))), frame_error::bad_field);
    EXPECT_EQ(with("next", {0xff}), frame_error::bad_field);
    EXPECT_EQ(with("origin", {1}), frame_error::bad_field);
    EXPECT_EQ(with("service", {0x91, 1}), frame_error::bad_field);
    EXPECT_EQ(with("service", byte_string{0xdc, 0, 17}.repeat(0xa0, 17)), frame_error::bad_field);
    EXPECT_EQ(decode(by_hand(byte_string{0x82}.add("\xa4name\xa1x\xa6"
                                                   "format\x01"sv))),
              frame_error::bad_field)
        << "without a channel count";
    EXPECT_EQ(decode(by_hand(byte_string{0x82}.add("\xa4name\xa1x\xa8"
                                                   "channels\x01"sv))),
              frame_error::bad_field)
        << "without a format";
    EXPECT_EQ(decode(by_hand({0x90})), frame_error::bad_field);
}

TEST(InfoFrame, RefusesOtherVersionsOrdersAndKinds) {
    const auto with_head = [](std::initializer_list<int> head) {
        return decode(byte_string(head).add(map_with(0)).add({0x93, 0xa1, 'd', 0xa0, 0x90}));
    };
    EXPECT_EQ(with_head({0x95, 0, 1, 0xa1, '>'}), frame_error::none);
    EXPECT_EQ(with_head({0x95, 0, 2, 0xa1, '>'}), frame_error::unknown_version);
    EXPECT_EQ(with_head({0x95, 0, 0, 0xa1, '>'}), frame_error::bad_field);
    EXPECT_EQ(with_head({0x95, 0, 1, 0xa1, '='}), frame_error::bad_field);
    EXPECT_EQ(with_head({0x95, 0, 1, 0xa0}), frame_error::bad_field);
    EXPECT_EQ(with_head({0x95, 0, 1, 1}), frame_error::bad_field);
    EXPECT_EQ(with_head({0x95, 1, 1, 0xa1, '>'}), frame_error::bad_field);
    EXPECT_EQ(with_head({0x95, 9, 1, 0xa1, '>'}), frame_error::unknown_kind);
    EXPECT_EQ(with_head({0x94, 0, 1, 0xa1, '>'}), frame_error::not_a_frame);
}

TEST(InfoFrame, EveryTruncationIsRefused) {
    const auto bytes = encode_info(full_frame());
    info_frame out;
    out.info.origin = "before";
    for (std::size_t size = 0; size < bytes.size(); ++size)
        ASSERT_EQ(decode_info(exact_copy(bytes_view(bytes).first(size)), out), frame_error::truncated) << size;
    EXPECT_EQ(decode_info(join({bytes, byte_string{0xc0}}), out), frame_error::trailing);
    EXPECT_EQ(out.info.origin, "before") << "a refused frame changed the result";
}

TEST(InfoFrame, MetadataMustHaveItsShape) {
    const auto with_tree = [](const byte_string& tree) { return decode(by_hand(map_with(0), tree)); };
    EXPECT_EQ(with_tree({0xc0}), frame_error::bad_field);
    EXPECT_EQ(with_tree({0x92, 0xa0, 0xa0}), frame_error::bad_field);
    EXPECT_EQ(with_tree({0x93, 0xa0, 1, 0x90}), frame_error::bad_field);
    EXPECT_EQ(with_tree({0x93, 0xa0, 0xa0, 0x80}), frame_error::bad_field);
    EXPECT_EQ(with_tree({0x93, 0xa0, 0xa0, 0x91, 0xc0}), frame_error::bad_field);
    EXPECT_EQ(with_tree({0x93, 0xa0, 0xa0, 0x91, 0x93, 0xa0, 0xa0, 0x90}), frame_error::none);
}

TEST(InfoFrame, LimitsHoldExactlyOnBothSides) {
    const info_limits limits{.bytes = 2000, .text_bytes = 100, .metadata_nodes = 10, .metadata_depth = 3};
    const auto both_sides = [&](const metadata& desc) {
        info_frame frame;
        frame.info = {.name = "x", .desc = desc};
        info_frame out;
        const frame_error seen = decode_info(encode_info(frame), out, limits);
        try {
            encode_info(frame, limits);
            EXPECT_EQ(seen, frame_error::none) << "encoded, but not decodable";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::limit_exceeded);
            EXPECT_EQ(seen, frame_error::too_large) << e.what();
        }
        return seen;
    };
    metadata wide("desc");
    for (int i = 0; i < 9; ++i)
        wide.append("a", std::string(100, 'v'));
    EXPECT_EQ(both_sides(wide), frame_error::none);
    wide.append("a");
    EXPECT_EQ(both_sides(wide), frame_error::too_large) << "11 nodes";

    metadata deep("desc");
    deep.at_path("a.b").value("v");
    EXPECT_EQ(both_sides(deep), frame_error::none);
    deep.at_path("a.b.c").value("v");
    EXPECT_EQ(both_sides(deep), frame_error::too_large) << "4 deep";

    metadata longer("desc", std::string(101, 'v'));
    EXPECT_EQ(both_sides(longer), frame_error::too_large);

    metadata big("desc");
    for (int i = 0; i < 9; ++i)
        big.append(std::string(100, 'n'), std::string(100, 'v'));
    EXPECT_EQ(both_sides(big), frame_error::none);
    big.value(std::string(100, 'v')).children()[0].append(std::string(50, 'n'), std::string(50, 'v'));
    big.children().pop_back();
    EXPECT_EQ(both_sides(big), frame_error::none);
}

TEST(InfoFrame, AFrameBeyondTheByteLimitIsRefusedUnread) {
    const byte_string frame = by_hand(map_with(0));
    EXPECT_EQ(decode(frame, {.bytes = frame.size()}), frame_error::none);
    EXPECT_EQ(decode(frame, {.bytes = frame.size() - 1}), frame_error::too_large);
}

TEST(InfoFrame, ManyChannelsWithLabelsFit) {
    info_frame frame;
    frame.info = {.name = "x", .channel_count = 4096};
    for (std::uint64_t i = 0; i < 4096; ++i)
        frame.info.channel(i).label("channel " + std::to_string(i)).unit("microvolts");
    info_frame out;
    ASSERT_EQ(decode_info(encode_info(frame), out), frame_error::none);
    EXPECT_EQ(out.info.label(4095), "channel 4095");
}

TEST(InfoFrame, BombsAllocateNothingLarge) {
    const byte_string nested = by_hand(map_with(0), byte_string().repeat(0x91, 100'000));
    const byte_string nested_maps = by_hand(byte_string().repeat(0x81, 100'000));
    byte_string trees;
    for (int i = 0; i < 10'000; ++i)
        trees.add({0x93, 0xa0, 0xa0, 0x91});
    const byte_string bombs[] = {{0x95, 0, 0xdd, 255, 255, 255, 255},
                                 {0x95, 0, 1, 0xdf, 255, 255, 255, 255},
                                 {0x95, 0, 1, 0xdb, 255, 255, 255, 255},
                                 {0x95, 0, 1, 0xa1, '<', 0xdf, 127, 255, 255, 255},
                                 by_hand(map_with(0), {0x93, 0xa0, 0xa0, 0xdd, 0, 7, 161, 32}),
                                 by_hand(map_with(0), {0x93, 0xa0, 0xa0, 0xdd, 255, 255, 255, 255}),
                                 by_hand(map_with(0), trees),
                                 nested,
                                 nested_maps};
    const test::allocation_counter counter;
    for (const byte_string& bomb : bombs) {
        info_frame out;
        EXPECT_NE(decode_info(bomb, out), frame_error::none);
    }
    EXPECT_LE(counter.largest(), 1024u);
}

} // namespace
} // namespace rivulet::wire
