#include "wire_test_support.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace rivulet::wire {
namespace {

std::vector<std::byte> encode(const status_frame& frame) {
    std::array<std::byte, status_frame_capacity> buffer;
    return join({encode_status(frame, buffer)});
}

TEST(StatusFrame, KeepAliveAndEndRoundTrip) {
    for (const frame_kind kind : {frame_kind::keep_alive, frame_kind::end})
        for (const std::uint64_t next :
             {std::uint64_t{0}, std::uint64_t{300}, std::numeric_limits<std::uint64_t>::max()}) {
            status_frame out;
            ASSERT_EQ(decode_status(encode({kind, next, 12.25}), out), frame_error::none);
            EXPECT_EQ(out.kind, kind);
            EXPECT_EQ(out.next_sequence, next);
            EXPECT_EQ(out.sent_at, 12.25);
        }
}

TEST(StatusFrame, ReservedElementsMayHoldBytesThatAreIgnored) {
    status_frame out;
    const byte_string padded =
        byte_string{0x95, 3, 9, 0xcb}.value(1.5).add({0xc4, 2, 7, 7, 0xc5, 0x20, 0}).repeat(0, 8192);
    EXPECT_EQ(decode_status(padded, out), frame_error::none);
    EXPECT_EQ(out.next_sequence, 9u);
    EXPECT_EQ(decode_status(byte_string{0x95, 3, 9, 0xcb}.value(1.5).add({0xc0, 0x90}), out), frame_error::bad_field);
}

TEST(StatusFrame, EveryTruncationIsRefused) {
    const auto frame = encode({frame_kind::end, 1u << 20, 5.0});
    status_frame out{.next_sequence = 77};
    for (std::size_t size = 0; size < frame.size(); ++size)
        EXPECT_EQ(decode_status(exact_copy(bytes_view(frame).first(size)), out), frame_error::truncated) << size;
    EXPECT_EQ(out.next_sequence, 77u) << "a refused frame changed the result";
    EXPECT_EQ(decode_status(join({frame, byte_string{0}}), out), frame_error::trailing);
}

TEST(StatusFrame, OtherFramesAreRefused) {
    status_frame out;
    EXPECT_EQ(decode_status(byte_string{0x95, 1, 0}, out), frame_error::bad_field);
    EXPECT_EQ(decode_status(byte_string{0x95, 6, 0}, out), frame_error::unknown_kind);
    EXPECT_EQ(decode_status(byte_string{0x93, 3, 0}, out), frame_error::not_a_frame);
    EXPECT_EQ(decode_status(byte_string{0x95, 3, 0xff, 0xcb}.value(1.0).add({0xc0, 0xc0}), out),
              frame_error::bad_field);
    EXPECT_EQ(decode_status(byte_string{0x95, 3, 0, 1, 0xc0, 0xc0}, out), frame_error::bad_field);
    EXPECT_EQ(decode_status(byte_string{0x95, 3, 0, 0xcb}.value(1.0).add({0xc6, 255, 255, 255, 255, 0xc0}), out),
              frame_error::truncated);
}

} // namespace
} // namespace rivulet::wire
