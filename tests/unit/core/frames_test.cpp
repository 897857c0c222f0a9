#include <rivulet/error.hpp>
#include <rivulet/frames.hpp>

#include <gtest/gtest.h>
#include <limits>

namespace rivulet {
namespace {

stream_info stream(channel_format format, std::uint64_t channels, double rate = irregular) {
    stream_info info;
    info.name = "captured";
    info.format = format;
    info.channel_count = channels;
    info.nominal_rate_hz = rate;
    return info;
}

std::vector<frame_reader::item> items_of(frame_reader& reader) {
    std::vector<frame_reader::item> items;
    for (auto item = reader.next(); item != frame_reader::item::more; item = reader.next())
        items.push_back(item);
    return items;
}

TEST(Frames, StringsSurviveWithEverythingInThem) {
    using namespace std::string_literals;
    const std::vector<std::string> texts = {"", "nul\0inside"s, "\xFF\xFE", "x"};
    const std::vector<double> stamps = {1.5, -2};
    std::vector<std::byte> bytes;
    frame_writer writer;
    writer.begin(bytes, stream(channel_format::string, 2));
    writer.data(bytes, 7, texts, stamps);
    frame_reader reader;
    reader.feed(bytes);
    EXPECT_EQ(items_of(reader), (std::vector{frame_reader::item::info, frame_reader::item::data}));
    EXPECT_EQ(reader.chunk().texts, texts);
    EXPECT_EQ(reader.chunk().stamps, stamps);
    EXPECT_EQ(reader.chunk().first_sequence, 7u);
}

TEST(Frames, RegularStampsCostNothingAndComeBackBitForBit) {
    constexpr double rate = 30'000;
    std::vector<double> stamps(30);
    for (std::size_t i = 0; i < stamps.size(); ++i)
        stamps[i] = 12345.678 - static_cast<double>(stamps.size() - 1 - i) / rate;
    const std::vector<float> values(stamps.size());
    std::vector<std::byte> regular, irregular_bytes;
    frame_writer writer, other;
    writer.begin(regular, stream(channel_format::float32, 1, rate));
    other.begin(irregular_bytes, stream(channel_format::float32, 1, rate));
    writer.data(regular, 0, std::as_bytes(std::span(values)), stamps);
    frame_reader reader;
    reader.feed(regular);
    items_of(reader);
    EXPECT_EQ(reader.chunk().stamps, stamps);

    stamps[3] += 1e-9;
    other.data(irregular_bytes, 0, std::as_bytes(std::span(values)), stamps);
    EXPECT_GT(irregular_bytes.size(), regular.size() + 200);
    frame_reader second;
    second.feed(irregular_bytes);
    items_of(second);
    EXPECT_EQ(second.chunk().stamps, stamps);
}

TEST(Frames, PiecesOfAnySizeWillDo) {
    std::vector<std::byte> bytes;
    frame_writer writer;
    writer.begin(bytes, stream(channel_format::int16, 1));
    const std::int16_t values[] = {1, 2, 3};
    const double stamps[] = {1, 2, 4};
    writer.data(bytes, 0, std::as_bytes(std::span(values)), stamps);
    writer.begin(bytes, stream(channel_format::int16, 1));
    writer.end(bytes, 3, 1.0);
    frame_reader reader;
    std::vector<frame_reader::item> items;
    for (const std::byte b : bytes) {
        reader.feed({&b, 1});
        for (const auto item : items_of(reader))
            items.push_back(item);
    }
    using enum frame_reader::item;
    EXPECT_EQ(items, (std::vector{info, data, info, end}));
    EXPECT_EQ(reader.pending_bytes(), 0u);
}

TEST(Frames, ClockRecordsComeBackBetweenTheSamples) {
    const clock_record measured{.number = 9, .local_s = 1.5, .offset_s = -1e5, .uncertainty_s = 1e-5, .rtt_s = 2e-5};
    clock_record jumped = measured;
    jumped.number = 10;
    jumped.reset = true;
    const std::vector<std::string> texts = {"x"};
    const std::vector<double> stamps = {1.5};
    std::vector<std::byte> bytes;
    frame_writer writer;
    EXPECT_THROW(writer.clock(bytes, measured), error);
    writer.begin(bytes, stream(channel_format::string, 1));
    writer.clock(bytes, measured);
    writer.data(bytes, 0, texts, stamps);
    writer.clock(bytes, jumped);
    clock_record wrong = measured;
    wrong.offset_s = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(writer.clock(bytes, wrong), error);

    frame_reader reader;
    reader.feed(bytes);
    using enum frame_reader::item;
    ASSERT_EQ(reader.next(), info);
    ASSERT_EQ(reader.next(), frame_reader::item::clock);
    EXPECT_EQ(reader.clock(), measured);
    ASSERT_EQ(reader.next(), data);
    ASSERT_EQ(reader.next(), frame_reader::item::clock);
    EXPECT_EQ(reader.clock(), jumped);
    EXPECT_EQ(reader.next(), more);
}

TEST(Frames, DamageIsNoticed) {
    std::vector<std::byte> good;
    frame_writer writer;
    writer.begin(good, stream(channel_format::float64, 2));
    const double values[] = {1, 2};
    const double stamps[] = {1};
    writer.data(good, 0, std::as_bytes(std::span(values)), stamps);

    auto no_magic = good;
    no_magic[0] = std::byte{'X'};
    auto long_record = good;
    long_record[8] = std::byte{0xFF};
    auto no_frame = good;
    no_frame[12] = std::byte{0xC1};
    for (const auto& bytes : {no_magic, long_record, no_frame}) {
        frame_reader reader;
        reader.feed(bytes);
        EXPECT_THROW(items_of(reader), error);
    }
}

TEST(Frames, EveryFlippedByteIsRefusedOrRead) {
    std::vector<std::byte> good;
    frame_writer writer;
    writer.begin(good, stream(channel_format::string, 2));
    const std::vector<std::string> texts = {"ab", "c"};
    const double stamps[] = {1};
    writer.data(good, 0, texts, stamps);
    for (std::size_t i = 0; i < good.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto bytes = good;
            bytes[i] ^= static_cast<std::byte>(1 << bit);
            frame_reader reader;
            reader.feed(bytes);
            try {
                items_of(reader);
            } catch (const error& e) {
                ASSERT_EQ(e.code(), errc::bad_frame);
            }
        }
}

TEST(Frames, WrongShapesAreRefusedWhenWritten) {
    std::vector<std::byte> bytes;
    frame_writer writer;
    const float values[] = {1, 2, 3};
    const double stamps[] = {1};
    EXPECT_THROW(writer.data(bytes, 0, std::as_bytes(std::span(values)), stamps), error);
    writer.begin(bytes, stream(channel_format::float32, 2));
    EXPECT_THROW(writer.data(bytes, 0, std::as_bytes(std::span(values)), stamps), error);
    EXPECT_THROW(writer.data(bytes, 0, std::vector<std::string>{"a", "b"}, stamps), error);
}

} // namespace
} // namespace rivulet
