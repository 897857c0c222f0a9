#include "wire_test_support.hpp"

#include <wire/service_frame.hpp>

#include <allocation_counter.hpp>
#include <rivulet/error.hpp>

#include <gtest/gtest.h>

namespace rivulet::wire {

inline void PrintTo(request_error error, std::ostream* out) { *out << "request_error " << static_cast<int>(error); }

namespace {

using namespace std::string_view_literals;

constexpr std::size_t no_limit = std::size_t{1} << 30;

bytes_view view(std::string_view text) { return std::as_bytes(std::span(text)); }

service_request control() {
    return {.id = 1ull << 40,
            .op = service_op::control,
            .uid = "0123456789abcdef",
            .consumer = "c0ffee",
            .name = "r\xc3\xa9"
                    "corder",
            .sent_at = 12.5,
            .about = 77,
            .data = view("a\0b"sv)};
}

/// A request or reply put together by hand: kind, id 7, then this.
byte_string by_hand(int kind, const byte_string& rest) { return byte_string{0x95, kind, 7}.add(bytes_view(rest)); }
byte_string text(std::string_view t) { return byte_string{0xa0 | static_cast<int>(t.size())}.add(t); }
byte_string uid() { return text("uid").add(bytes_view(text("u1"))); }

TEST(ServiceRequest, EveryOpRoundTrips) {
    for (const service_op op :
         {service_op::info, service_op::time, service_op::replay, service_op::control, service_op::stats}) {
        service_request asked = control();
        asked.op = op;
        asked.t1 = -0.5;
        asked.from = 5;
        asked.to = 1ull << 60;
        service_request got;
        const auto frame = encode_request(asked);
        ASSERT_EQ(decode_request(exact_copy(frame), got), request_error::none) << to_string(op);
        EXPECT_EQ(got.id, asked.id);
        EXPECT_EQ(got.op, op);
        EXPECT_EQ(got.uid, asked.uid);
        EXPECT_EQ(got.t1, op == service_op::time ? -0.5 : 0.0);
        EXPECT_EQ(got.to, op == service_op::replay ? asked.to : 0u);
        EXPECT_EQ(got.from, op == service_op::replay ? asked.from : 0u);
    }
}

TEST(ServiceRequest, AControlMessageRoundTrips) {
    const auto frame = encode_request(control());
    service_request got;
    ASSERT_EQ(decode_request(frame, got), request_error::none);
    EXPECT_EQ(got.consumer, "c0ffee");
    EXPECT_EQ(got.name, control().name);
    EXPECT_EQ(got.sent_at, 12.5);
    EXPECT_EQ(got.about, 77u);
    EXPECT_EQ(as_text(got.data), "a\0b"sv);
}

TEST(ServiceRequest, TheLargestDataFitsAndMoreIsRefused) {
    std::vector<std::byte> data(max_control_bytes + 1);
    service_request asked = control();
    asked.data = bytes_view(data).first(max_control_bytes);
    service_request got;
    const auto frame = encode_request(asked);
    EXPECT_EQ(decode_request(frame, got), request_error::none);
    EXPECT_EQ(got.data.size(), max_control_bytes);
    asked.data = data;
    EXPECT_THROW(encode_request(asked), error);
}

TEST(ServiceRequest, EveryTruncationIsNoRequestAndReadsNothingBeyond) {
    const auto frame = encode_request(control());
    service_request got{.id = 99};
    for (std::size_t size = 0; size < frame.size(); ++size)
        EXPECT_EQ(decode_request(exact_copy(bytes_view(frame).first(size)), got), request_error::no_request) << size;
    EXPECT_EQ(decode_request(join({frame, byte_string{0}}), got), request_error::no_request);
    EXPECT_EQ(got.id, 99u);
}

TEST(ServiceRequest, WhatHasAnIdCanBeRefusedByIt) {
    service_request got;
    EXPECT_EQ(decode_request(by_hand(4, text("dance").add({0x80, 0xc0})), got), request_error::unknown_op);
    EXPECT_EQ(got.id, 7u);
    const auto malformed = [&](const byte_string& rest) {
        service_request r;
        EXPECT_EQ(decode_request(by_hand(4, rest), r), request_error::malformed);
        EXPECT_EQ(r.id, 7u);
    };
    malformed(byte_string{3, 0x80, 0xc0});                                           // op is no text
    malformed(text("info").add({0xc0, 0xc0}));                                       // arguments are no map
    malformed(text("info").add({0x80, 0xc0}));                                       // no uid
    malformed(text("info").add({0x81}).add(bytes_view(text("uid"))).add({5, 0xc0})); // uid is no text
    malformed(text("replay").add({0x81}).add(bytes_view(uid())).add({0xc0}));        // no range
    malformed(text("replay")
                  .add({0x83})
                  .add(bytes_view(uid()))
                  .add(bytes_view(text("from")))
                  .add({9})
                  .add(bytes_view(text("to")))
                  .add({8, 0xc0}));
    malformed(text("control")
                  .add({0x82})
                  .add(bytes_view(uid()))
                  .add(bytes_view(text("data")))
                  .add(bytes_view(text("x")))
                  .add({0xc0})); // data is no bin
    malformed(text("time")
                  .add({0x82})
                  .add(bytes_view(uid()))
                  .add(bytes_view(text("t1")))
                  .add({0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0})); // NaN
    malformed(text("control")
                  .add({0x82})
                  .add(bytes_view(uid()))
                  .add(bytes_view(text("name")))
                  .add(bytes_view(text("a\nb")))
                  .add({0xc0}));
}

TEST(ServiceRequest, UnknownArgumentsAndWhateverProofAreIgnored) {
    service_request got;
    const byte_string rest = text("info")
                                 .add({0x82})
                                 .add(bytes_view(text("later")))
                                 .add({0x91, 0x80})
                                 .add(bytes_view(uid()))
                                 .add({0xc4, 2, 1, 2});
    EXPECT_EQ(decode_request(by_hand(4, rest), got), request_error::none);
    EXPECT_EQ(got.uid, "u1");
}

TEST(ServiceRequest, BombsCostNothing) {
    const test::allocation_counter allocations;
    service_request got;
    for (const byte_string& bomb :
         {by_hand(4, text("info").add({0xdf, 0xff, 0xff, 0xff, 0xff})), by_hand(4, {0xdd, 0xff, 0xff, 0xff, 0xff}),
          by_hand(4, text("info").repeat(0x91, 1000)), by_hand(4, {0xc6, 0xff, 0xff, 0xff, 0xff})})
        EXPECT_EQ(decode_request(bomb, got), request_error::no_request);
    EXPECT_LT(allocations.largest(), 64u << 10);
}

TEST(ServiceReply, ARefusalCarriesItsReason) {
    service_reply got;
    const auto frame = encode_refusal(9, reply_status::busy, "too many");
    const exact_copy received(frame);
    ASSERT_EQ(decode_reply(received, no_limit, got), frame_error::none);
    EXPECT_EQ(got.id, 9u);
    EXPECT_EQ(got.status, reply_status::busy);
    EXPECT_EQ(got.text, "too many");
    const auto longer = encode_refusal(9, reply_status::failed, std::string(100'000, 'x'));
    EXPECT_LT(longer.size(), 2000u) << "a reason is cut, not sent whole";
}

TEST(ServiceReply, UnknownStatusesAreRefusals) {
    service_reply got;
    ASSERT_EQ(decode_reply(by_hand(5, {0xcd, 1, 44, 0x80, 0xc0}), no_limit, got), frame_error::none);
    EXPECT_EQ(got.status, reply_status::refused);
}

TEST(ServiceReply, TimesRoundTrip) {
    service_reply got;
    const auto frame = encode_time_reply(9, 1.5, 2.0, 3.0, 1'700'000'000'000'000'001);
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(got.t1, 1.5);
    EXPECT_EQ(got.t2, 2.0);
    EXPECT_EQ(got.t3, 3.0);
    EXPECT_EQ(got.unix_ns, 1'700'000'000'000'000'001);
}

TEST(ServiceReply, ControlAndInfoCarryTheirBytes) {
    service_reply got;
    auto frame = encode_control_reply(9, view("a\0b"sv));
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(as_text(got.data), "a\0b"sv);
    frame = encode_control_reply(9, view("x"), "no");
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(got.status, reply_status::refused);
    EXPECT_EQ(got.text, "no");
    EXPECT_EQ(as_text(got.data), "x");
    frame = encode_info_reply(9, view("frame"));
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(as_text(got.info), "frame");
}

TEST(ServiceReply, StatsRoundTripAsFarAsTheyGo) {
    outlet_stats stats{
        .pushed = 1, .sent = 2, .dropped = 3, .consumers = 4, .kicked = 5, .ignored = 6, .refused = 7, .current = {}};
    stats.current.resize(max_stats_consumers + 5, {"id", "name", "address", "link", 7, 8, 9});
    const auto frame = encode_stats_reply(9, stats);
    service_reply got;
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(got.stats.pushed, 1u);
    EXPECT_EQ(got.stats.ignored, 6u);
    EXPECT_EQ(got.stats.refused, 7u);
    ASSERT_EQ(got.stats.current.size(), max_stats_consumers);
    EXPECT_EQ(got.stats.current.back().link, "link");
    EXPECT_EQ(got.stats.current.back().lag, 9u);
}

TEST(ServiceReply, ReplayedFramesAreDataFrames) {
    replay_writer writer(9, 300);
    std::array<std::byte, data_head_capacity(1)> buffer;
    const std::vector<std::byte> payload(24, std::byte{1});
    for (std::uint64_t first : {300u, 303u}) {
        const stamp_run run{3, 2, 12.5};
        const data_header header{.first_sequence = first, .count = 3, .runs = {&run, 1}, .payload_bytes = 24};
        writer.add(encode_data_head(header, buffer), bytes_view(payload).first(4), bytes_view(payload).subspan(4));
    }
    EXPECT_EQ(writer.frames(), 2u);
    const auto frame = writer.finish(306);
    service_reply got;
    ASSERT_EQ(decode_reply(frame, no_limit, got), frame_error::none);
    EXPECT_EQ(got.from, 300u);
    EXPECT_EQ(got.next, 306u);
    ASSERT_EQ(got.frames.size(), 2u);
    data_parser parser;
    data_view data;
    ASSERT_EQ(parser.parse(got.frames[1], {}, data), frame_error::none);
    EXPECT_EQ(data.first_sequence, 303u);
    EXPECT_EQ(data.count, 3u);
    EXPECT_EQ(data.payload.size(), 24u);
}

TEST(ServiceReply, LimitsHold) {
    const auto frame = encode_control_reply(9, std::vector<std::byte>(1000));
    service_reply got;
    EXPECT_EQ(decode_reply(frame, 500, got), frame_error::too_large);
    for (std::size_t size = 0; size < frame.size(); ++size)
        EXPECT_EQ(decode_reply(exact_copy(bytes_view(frame).first(size)), no_limit, got), frame_error::truncated);
    const test::allocation_counter allocations;
    for (const byte_string& bomb :
         {by_hand(5, {0, 0xdf, 0xff, 0xff, 0xff, 0xff}),
          by_hand(5, byte_string{0, 0x81}.add(bytes_view(text("frames"))).add({0xdd, 0xff, 0xff, 0xff, 0xff})),
          by_hand(5, byte_string{0}.repeat(0x91, 1000))})
        EXPECT_NE(decode_reply(bomb, no_limit, got), frame_error::none);
    EXPECT_LT(allocations.largest(), 1u << 20);
}

TEST(ServiceReply, OtherFramesAreRefused) {
    service_reply got;
    EXPECT_EQ(decode_reply(encode_request(control()), no_limit, got), frame_error::bad_field);
    EXPECT_EQ(decode_reply(byte_string{0x95, 6, 0}, no_limit, got), frame_error::unknown_kind);
    service_request request;
    EXPECT_EQ(decode_request(encode_refusal(1, reply_status::busy, ""), request), request_error::no_request);
}

} // namespace
} // namespace rivulet::wire
