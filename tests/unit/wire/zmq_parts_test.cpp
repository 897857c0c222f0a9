#include "wire_test_support.hpp"

#include <wire/zmq_parts.hpp>

#include <gtest/gtest.h>
#include <limits>
#include <msgpack.hpp>

namespace rivulet::wire {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(GreetingSequence, RoundTrips) {
    for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{300}, std::uint64_t{1} << 40, largest})
        EXPECT_EQ(decode_sequence(encode_sequence(sequence)), sequence);
    EXPECT_EQ(join({encode_sequence(0x0102030405060708)}), join({byte_string{0xcf, 1, 2, 3, 4, 5, 6, 7, 8}}));
}

TEST(GreetingSequence, MayBeWrittenInAnyIntegerEncoding) {
    EXPECT_EQ(decode_sequence(byte_string{5}), 5u);
    EXPECT_EQ(decode_sequence(byte_string{0xcc, 200}), 200u);
    EXPECT_EQ(decode_sequence(byte_string{0xcd, 1, 0}), 256u);
    EXPECT_EQ(decode_sequence(byte_string{0xce, 0, 1, 0, 0}), 65536u);
    EXPECT_EQ(decode_sequence(byte_string{0xd3, 0, 0, 0, 0, 0, 0, 1, 0}), 256u);
}

TEST(GreetingSequence, NothingElseIsTaken) {
    for (const byte_string& part : {byte_string{}, byte_string{0xff}, byte_string{0xc0}, byte_string{5, 5},
                                    byte_string{0xcc}, byte_string{0xcd, 1}, byte_string{0xcf, 1, 2, 3, 4, 5, 6, 7},
                                    byte_string{0xcf, 1, 2, 3, 4, 5, 6, 7, 8, 9}, byte_string{0xd0, 0x80}})
        EXPECT_EQ(decode_sequence(exact_copy(part)), std::nullopt);
}

TEST(Padding, IsAFrameOfAKindThatReadersIgnore) {
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{9000}}) {
        const auto frame = encode_padding(bytes);
        EXPECT_EQ(frame.size(), bytes);
        data_parser parser;
        data_view view;
        EXPECT_EQ(parser.parse(frame, {}, view), frame_error::unknown_kind);
        std::size_t used = 0;
        const auto unpacked = msgpack::unpack(reinterpret_cast<const char*>(frame.data()), frame.size(), used);
        EXPECT_EQ(used, bytes);
        EXPECT_EQ(unpacked->via.array.size, 5u);
    }
}

} // namespace
} // namespace rivulet::wire
