#include "wire_test_support.hpp"

#include <allocation_counter.hpp>

#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace rivulet::wire {
namespace {

token counting_token() {
    token t;
    for (std::size_t i = 0; i < t.size(); ++i)
        t[i] = static_cast<std::byte>(i);
    t[0] = std::byte{token_first_byte};
    return t;
}

/// A hello with this msgpack after the token.
byte_string with_map(const byte_string& map) {
    byte_string bytes;
    bytes.add(bytes_view(counting_token())).add(map);
    auto all = join({bytes});
    all[0] = std::byte{hello_first_byte};
    return byte_string().add(bytes_view(all));
}

TEST(Token, IsFreshAndMarked) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        const token t = make_token();
        EXPECT_EQ(t[0], std::byte{token_first_byte});
        EXPECT_TRUE(seen.insert(to_string(t)).second);
    }
    EXPECT_EQ(to_string(counting_token()), "0102030405060708090a0b0c0d0e0f10");
}

TEST(Hello, RoundTrips) {
    const hello full{.tok = counting_token(),
                     .name = "r\xc3\xa9"
                             "corder 7",
                     .history_ns = std::numeric_limits<std::uint64_t>::max(),
                     .resume_uid = "0123456789abcdef0123456789abcdef",
                     .resume_from = 1ull << 50};
    const auto bytes = encode_hello(full);
    EXPECT_EQ(bytes[0], std::byte{hello_first_byte});
    EXPECT_LT(bytes[0], full.tok[0]) << "a hello must sort before the token";
    EXPECT_LE(bytes.size(), max_hello_bytes);
    hello out;
    ASSERT_EQ(decode_hello(exact_copy(bytes), out), frame_error::none);
    EXPECT_EQ(out.tok, full.tok);
    EXPECT_EQ(out.name, full.name);
    EXPECT_EQ(out.history_ns, full.history_ns);
    EXPECT_EQ(out.resume_uid, full.resume_uid);
    EXPECT_EQ(out.resume_from, full.resume_from);
}

TEST(Hello, SeventeenBytesAreEnough) {
    const byte_string bytes = with_map({});
    ASSERT_EQ(bytes.size(), token_bytes);
    hello out;
    ASSERT_EQ(decode_hello(bytes, out), frame_error::none);
    EXPECT_EQ(out.tok, counting_token());
    EXPECT_EQ(out.name, "");
    EXPECT_EQ(out.history_ns, 0u);
}

TEST(Hello, LongOrUglyNamesAreMadePresentable) {
    hello out;
    ASSERT_EQ(decode_hello(encode_hello({.tok = counting_token(),
                                         .name = "a\nb\x7f"
                                                 "c"}),
                           out),
              frame_error::none);
    EXPECT_EQ(out.name, "a?b?c");
    std::string name(63, 'x');
    name += "\xe2\x82\xac\xe2\x82\xac"; // 63 letters, then euro signs of three bytes
    ASSERT_EQ(decode_hello(encode_hello({.tok = counting_token(), .name = name}), out), frame_error::none);
    EXPECT_EQ(out.name, std::string(63, 'x')) << "cut inside a character";
    const std::string uid(100, 'u');
    ASSERT_EQ(
        decode_hello(encode_hello({.tok = counting_token(), .name = std::string(1000, 'n'), .resume_uid = uid}), out),
        frame_error::none);
    EXPECT_EQ(out.name.size(), 64u);
}

TEST(Hello, UnknownKeysAreIgnored) {
    hello out;
    // {"x": [1, {}], 5: nil, "n": "me"}
    ASSERT_EQ(decode_hello(with_map({0x83, 0xa1, 'x', 0x92, 1, 0x80, 5, 0xc0, 0xa1, 'n', 0xa2, 'm', 'e'}), out),
              frame_error::none);
    EXPECT_EQ(out.name, "me");
}

TEST(Hello, RefusesWhatItMust) {
    const auto decode = [](const byte_string& bytes) {
        hello out;
        return decode_hello(exact_copy(bytes), out);
    };
    EXPECT_EQ(decode(byte_string{0xc1}.repeat(1, 16)), frame_error::not_a_frame);
    EXPECT_EQ(decode(byte_string{0xc0}.repeat(1, 15)), frame_error::truncated);
    EXPECT_EQ(decode({}), frame_error::truncated);
    EXPECT_EQ(decode(byte_string{0xc0}.repeat(1, 512)), frame_error::too_large);
    EXPECT_EQ(decode(with_map({0x90})), frame_error::bad_field) << "no map";
    EXPECT_EQ(decode(with_map({0xc1})), frame_error::bad_field) << "no msgpack";
    EXPECT_EQ(decode(with_map({0x80, 0})), frame_error::trailing);
    EXPECT_EQ(decode(with_map({0x81, 0xa1, 'n', 1})), frame_error::bad_field) << "a name that is a number";
    EXPECT_EQ(decode(with_map({0x81, 0xa1, 'n', 0xa1, 7})), frame_error::bad_field) << "a control character";
    EXPECT_EQ(decode(with_map(byte_string{0x81, 0xa1, 'n', 0xd9, 65}.repeat('n', 65))), frame_error::bad_field);
    EXPECT_EQ(decode(with_map(byte_string{0x81, 0xa1, 'u', 0xd9, 65}.repeat('n', 65))), frame_error::bad_field);
    EXPECT_EQ(decode(with_map({0x81, 0xa1, 's', 0xff})), frame_error::bad_field) << "a negative sequence";
    EXPECT_EQ(decode(with_map({0x81, 0xa1, 'h', 0xcb, 0, 0, 0, 0, 0, 0, 0, 0})), frame_error::bad_field);
}

TEST(Hello, EveryTruncationIsRefused) {
    const auto bytes =
        encode_hello({.tok = counting_token(), .name = "me", .history_ns = 1, .resume_uid = "u", .resume_from = 2});
    hello out;
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(decode_hello(exact_copy(bytes_view(bytes).first(size)), out),
                  size == token_bytes ? frame_error::none : frame_error::truncated)
            << size;
}

TEST(Hello, BombsAllocateNothingLarge) {
    hello out;
    const byte_string bombs[] = {with_map({0xdd, 255, 255, 255, 255}),      with_map({0xdf, 255, 255, 255, 255}),
                                 with_map({0xc6, 255, 255, 255, 255}),      with_map({0xdb, 255, 255, 255, 255}),
                                 with_map(byte_string().repeat(0x91, 400)), with_map(byte_string().repeat(0x81, 400))};
    const test::allocation_counter counter;
    for (const byte_string& bomb : bombs)
        EXPECT_NE(decode_hello(bomb, out), frame_error::none);
    EXPECT_LE(counter.largest(), 1024u);
}

} // namespace
} // namespace rivulet::wire
