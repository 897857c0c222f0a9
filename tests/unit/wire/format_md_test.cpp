#include "wire_test_support.hpp"

#include <wire/service_frame.hpp>

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

// The examples that FORMAT.md shows, read out of FORMAT.md.

namespace rivulet::wire {
namespace {

using namespace std::string_view_literals;

/// The bytes of the block "```hex NAME".
std::vector<std::byte> example(std::string_view name) {
    std::ifstream file(RIVULET_FORMAT_MD);
    std::string line;
    while (std::getline(file, line) && line != "```hex " + std::string(name)) {
    }
    std::vector<std::byte> bytes;
    while (std::getline(file, line) && line != "```") {
        std::istringstream pairs(line.substr(0, line.find('#')));
        for (std::string pair; pairs >> pair;)
            bytes.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
    }
    return bytes;
}

std::vector<double> all_stamps(const data_view& view, double rate) {
    std::vector<double> stamps(view.count);
    double* at = stamps.data();
    for (const stamp_run& run : view.runs) {
        expand_run(run, rate, at);
        at += run.count;
    }
    return stamps;
}

/// Values of the payload of a little-endian sender.
template<class T, class U>
std::vector<T> values(bytes_view payload) {
    std::vector<T> out;
    for (std::size_t i = 0; i + sizeof(T) <= payload.size(); i += sizeof(T))
        out.push_back(std::bit_cast<T>(load<U>(payload.data() + i, std::endian::little)));
    return out;
}

TEST(FormatMd, Float32Example) {
    const auto frame = example("float32");
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 300u);
    EXPECT_EQ(view.count, 3u);
    EXPECT_EQ(all_stamps(view, 4.0), (std::vector{12.0, 12.25, 12.5}));
    EXPECT_EQ((values<float, std::uint32_t>(view.payload)), (std::vector<float>{0.5f, -1, 0.75f, -2, 1, -4}));

    std::vector<std::byte> buffer(data_head_capacity(1));
    const data_head head = encode_data_head(
        {.first_sequence = 300, .count = 3, .runs = view.runs, .payload_bytes = view.payload.size()}, buffer);
    EXPECT_EQ(join({head.head, view.payload}), frame) << "our own encoder writes other bytes than FORMAT.md shows";
}

TEST(FormatMd, StringExample) {
    const auto frame = example("string");
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 7u);
    EXPECT_EQ((values<double, std::uint64_t>(view.column)), (std::vector{3.0, 3.125}));
    text_payload text;
    ASSERT_EQ(text_payload::parse(view.payload, 2, std::endian::little, text), frame_error::none);
    EXPECT_EQ(as_text(text[0]), "a\0b"sv);
    EXPECT_EQ(as_text(text[1]), "gr\xc3\xbcn!");
}

TEST(FormatMd, Int8RunsExample) {
    const auto frame = example("int8-runs");
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 0u);
    EXPECT_EQ(all_stamps(view, 4.0), (std::vector{100.0, 100.25, 100.25, 100.5}));
    EXPECT_EQ((values<std::int8_t, std::uint8_t>(view.payload)), (std::vector<std::int8_t>{1, 2, 3, -4}));

    std::vector<std::byte> buffer(data_head_capacity(2));
    const data_head head = encode_data_head({.count = 4, .runs = view.runs, .payload_bytes = 4}, buffer);
    EXPECT_EQ(join({head.head, view.payload}), frame) << "our own encoder writes other bytes than FORMAT.md shows";
}

TEST(FormatMd, TimeRequestAndReplyExamples) {
    const auto asked = example("time-request");
    service_request request;
    ASSERT_EQ(decode_request(asked, request), request_error::none);
    EXPECT_EQ(request.id, 7u);
    EXPECT_EQ(request.op, service_op::time);
    EXPECT_EQ(request.uid, "ab12");
    EXPECT_EQ(request.t1, 12.5);
    EXPECT_EQ(encode_request(request), asked);

    const auto answered = example("time-reply");
    service_reply reply;
    ASSERT_EQ(decode_reply(answered, answered.size(), reply), frame_error::none);
    EXPECT_EQ(reply.t2, 100.0);
    EXPECT_EQ(reply.t3, 100.25);
    EXPECT_EQ(encode_time_reply(7, reply.t1, reply.t2, reply.t3, reply.unix_ns), answered);
}

} // namespace
} // namespace rivulet::wire
