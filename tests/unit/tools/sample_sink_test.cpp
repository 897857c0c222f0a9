#include "common/sample_sink.hpp"

#include "common/output_file.hpp"
#include "temp_folder.hpp"

#include <rivulet/error.hpp>
#include <rivulet/frames.hpp>

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace rivulet::tools {
namespace {

stream_info stream(channel_format format, std::uint64_t channels = 1) {
    stream_info info;
    info.name = "S";
    info.uid = "u1";
    info.format = format;
    info.channel_count = channels;
    return info;
}

class SampleSink : public testing::Test {
protected:
    /// What a sink makes of one chunk that begins with sequence number 40.
    template<class T>
    std::string written(const sink_options& options, const stream_info& info, const std::vector<T>& values,
                        const std::vector<double>& stamps) {
        const stop_signal stop;
        output_file file(folder_ / "out", stop);
        const auto sink = make_sink(options, &file);
        sink->begin(info);
        received_chunk chunk{40, stamps.size(), {}, {}, stamps};
        if constexpr (std::is_same_v<T, std::string>)
            chunk.texts = values;
        else
            chunk.values = std::as_bytes(std::span(values));
        sink->write(chunk);
        sink->end(40 + stamps.size());
        file.flush();
        return folder_.read("out");
    }

    temp_folder folder_;
};

TEST_F(SampleSink, CsvHasAHeaderAndShortestNumbers) {
    stream_info info = stream(channel_format::float32, 2);
    info.channel(1).label("Fp\"1");
    EXPECT_EQ(written<float>({}, info, {0.1f, 2, -0.0f, 1e30f}, {1.25, 1e-9}),
              "stamp,ch0,\"Fp\"\"1\"\n1.25,0.1,2\n1e-09,-0,1e+30\n");
}

TEST_F(SampleSink, CsvWithTheSequenceNumber) {
    EXPECT_EQ(written<std::int8_t>({.sequence = true}, stream(channel_format::int8), {-128, 127}, {1, 2}),
              "stamp,sequence,ch0\n1,40,-128\n2,41,127\n");
}

TEST_F(SampleSink, WallClockTimes) {
    const stop_signal stop;
    const std::vector<std::int64_t> times{1'764'534'652'000'000'007, 999'999'999, -1};
    const std::vector<double> stamps{1, 2, 3};
    const std::vector<std::int8_t> values{1, 2, 3};
    const auto written_as = [&](output_format format, stamp_format as) {
        output_file file(folder_ / "out", stop);
        const auto sink = make_sink({.format = format, .stamps = as}, &file);
        sink->begin(stream(channel_format::int8));
        sink->write({0, 3, std::as_bytes(std::span(values)), {}, stamps, times});
        file.flush();
        return folder_.read("out");
    };
    EXPECT_EQ(written_as(output_format::csv, stamp_format::unix),
              "stamp,ch0\n1764534652.000000007,1\n0.999999999,2\n-0.000000001,3\n");
    EXPECT_EQ(written_as(output_format::csv, stamp_format::iso),
              "stamp,ch0\n2025-11-30T20:30:52.000000007Z,1\n1970-01-01T00:00:00.999999999Z,2\n"
              "1969-12-31T23:59:59.999999999Z,3\n");
    EXPECT_EQ(written_as(output_format::jsonl, stamp_format::unix),
              "{\"stamp\":1764534652.000000007,\"values\":[1]}\n{\"stamp\":0.999999999,\"values\":[2]}\n"
              "{\"stamp\":-0.000000001,\"values\":[3]}\n");
    EXPECT_EQ(written_as(output_format::jsonl, stamp_format::iso).substr(0, 50),
              "{\"stamp\":\"2025-11-30T20:30:52.000000007Z\",\"values\"");
}

TEST_F(SampleSink, FramesKeepWhatWasMeasuredOfTheClock) {
    const stop_signal stop;
    output_file file(folder_ / "out", stop);
    const auto sink = make_sink({.format = output_format::frames}, &file);
    sink->begin(stream(channel_format::int8));
    sink->clock({.number = 3, .local_s = 1, .offset_s = 2});
    file.flush();
    const std::string bytes = folder_.read("out");
    frame_reader reader;
    reader.feed(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(reader.next(), frame_reader::item::info);
    EXPECT_EQ(reader.next(), frame_reader::item::clock);
    EXPECT_EQ(reader.clock().offset_s, 2);
}

TEST_F(SampleSink, CsvOfStringsAndBlobs) {
    EXPECT_EQ(written<std::string>({}, stream(channel_format::string, 2), {"a,b", "", "x\ny", "q\"q"}, {1, 2}),
              "stamp,ch0,ch1\n1,\"a,b\",\n2,\"x\ny\",\"q\"\"q\"\n");
    EXPECT_EQ(written<std::string>({}, stream(channel_format::blob), {std::string("\0\1\xFF", 3)}, {1}),
              "stamp,ch0\n1,AAH/\n");
}

TEST_F(SampleSink, JsonLines) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    sink_options options{.format = output_format::jsonl};
    EXPECT_EQ(written<double>(options, stream(channel_format::float64, 2), {1, nan}, {0.5}),
              "{\"stamp\":0.5,\"values\":[1,null]}\n");
    options.sequence = options.name_stream = true;
    EXPECT_EQ(written<std::string>(options, stream(channel_format::string), {"a\"b"}, {0.5}),
              "{\"name\":\"S\",\"uid\":\"u1\",\"stamp\":0.5,\"sequence\":40,\"values\":[\"a\\\"b\"]}\n");
}

TEST_F(SampleSink, RawIsTheValuesOnly) {
    const std::vector<std::int32_t> values = {1, -2, 3};
    const std::string bytes =
        written<std::int32_t>({.format = output_format::raw}, stream(channel_format::int32), values, {1, 2, 3});
    ASSERT_EQ(bytes.size(), sizeof(std::int32_t) * 3);
    EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0);
    EXPECT_THROW(written<std::string>({.format = output_format::raw}, stream(channel_format::string), {"x"}, {1}),
                 error);
}

TEST_F(SampleSink, FramesCanBeReadBack) {
    const std::string bytes =
        written<std::int16_t>({.format = output_format::frames}, stream(channel_format::int16), {5, 6}, {1.5, 7.25});
    frame_reader reader;
    reader.feed(std::as_bytes(std::span(bytes)));
    ASSERT_EQ(reader.next(), frame_reader::item::info);
    EXPECT_EQ(reader.info().uid, "u1");
    ASSERT_EQ(reader.next(), frame_reader::item::data);
    EXPECT_EQ(reader.chunk().first_sequence, 40u);
    EXPECT_EQ(reader.chunk().stamps, (std::vector<double>{1.5, 7.25}));
    EXPECT_EQ(reader.next(), frame_reader::item::end);
    EXPECT_EQ(reader.next(), frame_reader::item::more);
    EXPECT_EQ(reader.pending_bytes(), 0u);
}

TEST_F(SampleSink, ASegmentOfAnotherShapeIsRefusedWhereItCannotBeTold) {
    const stop_signal stop;
    for (const auto format : {output_format::csv, output_format::raw}) {
        output_file file(folder_ / "out", stop);
        const auto sink = make_sink({.format = format}, &file);
        sink->begin(stream(channel_format::int16, 2));
        sink->begin(stream(channel_format::int16, 2));
        EXPECT_THROW(sink->begin(stream(channel_format::int16, 3)), error);
        EXPECT_THROW(sink->begin(stream(channel_format::float32, 2)), error);
    }
}

} // namespace
} // namespace rivulet::tools
