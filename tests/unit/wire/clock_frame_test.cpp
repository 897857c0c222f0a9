#include "wire_test_support.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace rivulet::wire {
namespace {

const clock_record example{
    .number = 300, .local_s = 12.25, .offset_s = -100'000.5, .uncertainty_s = 2e-5, .rtt_s = 3e-5, .reset = true};

TEST(ClockFrame, RoundTrip) {
    for (const bool reset : {false, true}) {
        clock_record record = example;
        record.reset = reset;
        const auto bytes = encode_clock(record);
        EXPECT_LE(bytes.size(), max_clock_record_bytes);
        EXPECT_EQ(peek_kind(bytes), clock_record_kind);
        clock_record out;
        ASSERT_EQ(decode_clock(bytes, out), frame_error::none);
        EXPECT_EQ(out, record);
    }
}

TEST(ClockFrame, UnknownKeysAreIgnoredAndNumbersMayBeWhole) {
    clock_record out;
    const byte_string frame = byte_string{0x95, 0x40, 12, 3, 0, 0x82, 0xa1, 'x', 0x92, 1, 2, 0xa3, 'r', 't', 't', 1};
    ASSERT_EQ(decode_clock(frame, out), frame_error::none);
    EXPECT_EQ(out, (clock_record{.local_s = 12, .offset_s = 3, .rtt_s = 1}));
}

TEST(ClockFrame, EveryTruncationIsRefused) {
    const auto bytes = encode_clock(example);
    clock_record out{.number = 77};
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_NE(decode_clock(exact_copy(bytes_view(bytes).first(size)), out), frame_error::none) << size;
    EXPECT_EQ(out.number, 77u) << "a refused frame changed the result";
}

TEST(ClockFrame, WhatIsNoMeasurementIsRefused) {
    clock_record out;
    for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        clock_record record = example;
        record.offset_s = wrong;
        EXPECT_EQ(decode_clock(encode_clock(record), out), frame_error::bad_field);
    }
    EXPECT_EQ(decode_clock(byte_string{0x95, 0x40, 0xc0, 3, 0, 0x80}, out), frame_error::bad_field);
    EXPECT_EQ(decode_clock(byte_string{0x95, 0x40, 1, 3, 0, 0xc0}, out), frame_error::bad_field);
    EXPECT_EQ(decode_clock(byte_string{0x95, 0x41, 1, 3, 0, 0x80}, out), frame_error::not_a_frame);
    EXPECT_EQ(decode_clock(byte_string{0x95, 0x40, 1, 3, 0, 0x80, 0}, out), frame_error::trailing);
    EXPECT_EQ(decode_clock(byte_string{0x95, 0x40, 1, 3, 0, 0x80}.repeat(0, 600), out), frame_error::too_large);
}

} // namespace
} // namespace rivulet::wire
