#include "common/file_sources.hpp"

#include "temp_folder.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

class FileSources : public testing::Test {
protected:
    std::unique_ptr<input_file> input(std::string_view text) {
        return std::make_unique<input_file>(folder_.write("input", text), condition_);
    }
    /// All batches of a source as one.
    static batch all(sample_source& source, std::size_t chunk = 2) {
        batch whole, piece;
        while (source.next(chunk, piece)) {
            EXPECT_GT(piece.samples, 0u);
            EXPECT_LE(piece.samples, chunk);
            whole.samples += piece.samples;
            whole.values.insert(whole.values.end(), piece.values.begin(), piece.values.end());
            whole.texts.insert(whole.texts.end(), piece.texts.begin(), piece.texts.end());
            whole.stamps.insert(whole.stamps.end(), piece.stamps.begin(), piece.stamps.end());
        }
        return whole;
    }
    template<class T>
    static std::vector<T> values_of(const batch& samples) {
        std::vector<T> values(samples.values.size() / sizeof(T));
        std::memcpy(values.data(), samples.values.data(), samples.values.size());
        return values;
    }
    std::string complaint_about(std::string_view text, channel_format format = channel_format::float64) {
        try {
            csv_source source(input(text), format);
            all(source);
        } catch (const bad_input& e) {
            const std::string what = e.what();
            return what.substr(what.find("input") + 5);
        }
        return "none";
    }

    temp_folder folder_;
    stop_signal signal_;
    stop_condition condition_{signal_};
};

TEST_F(FileSources, CsvGivesLabelsStampsAndValues) {
    csv_source source(input("stamp,Fp1,\"a,b\"\n1.5,1,2\n2.5,nan,-0\n3.5,1e3,0.1\n"), channel_format::float64);
    EXPECT_EQ(source.labels(), (std::vector<std::string>{"Fp1", "a,b"}));
    const batch samples = all(source);
    EXPECT_EQ(samples.samples, 3u);
    EXPECT_EQ(samples.stamps, (std::vector<double>{1.5, 2.5, 3.5}));
    const auto values = values_of<double>(samples);
    EXPECT_EQ(values[0], 1);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_TRUE(std::signbit(values[3]));
    EXPECT_EQ(values[4], 1000);
    EXPECT_EQ(values[5], 0.1);
}

TEST_F(FileSources, CsvWithoutStampsHasNone) {
    csv_source source(input("x,y\n1,2\n"), channel_format::int16);
    const batch samples = all(source);
    EXPECT_TRUE(samples.stamps.empty());
    EXPECT_EQ(values_of<std::int16_t>(samples), (std::vector<std::int16_t>{1, 2}));
}

TEST_F(FileSources, CsvPassesTheSequenceColumnOver) {
    csv_source source(input("stamp,sequence,ch0\n1,17,5\n"), channel_format::int8);
    EXPECT_EQ(source.labels(), std::vector<std::string>{"ch0"});
    EXPECT_EQ(values_of<std::int8_t>(all(source)), std::vector<std::int8_t>{5});
}

TEST_F(FileSources, CsvOfStringsTakesThemAsTheyAre) {
    csv_source source(input("stamp,m\n1,\"a\"\"b\nc\"\n2,\n3, 7 \n"), channel_format::string);
    EXPECT_EQ(all(source).texts, (std::vector<std::string>{"a\"b\nc", "", " 7 "}));
}

TEST_F(FileSources, CsvOfBlobsIsBase64) {
    csv_source source(input("stamp,b\n1,AAH/\n2,\n"), channel_format::blob);
    EXPECT_EQ(all(source).texts, (std::vector<std::string>{std::string("\0\1\xFF", 3), ""}));
}

TEST_F(FileSources, CsvErrorsNameFileLineAndColumn) {
    EXPECT_EQ(complaint_about("stamp,x\n1,2\n2,abc\n"), ", line 3, column 'x': 'abc' is no float64 value");
    EXPECT_EQ(complaint_about("stamp,x\n1,200\n", channel_format::int8),
              ", line 2, column 'x': '200' is no int8 value");
    EXPECT_EQ(complaint_about("stamp,x\nnan,2\n"), ", line 2, column 'stamp': 'nan' is no stamp in seconds");
    EXPECT_EQ(complaint_about("stamp,x\n1,2\n1,2,3\n"), ", line 3: 3 fields where the header has 2");
    EXPECT_EQ(complaint_about("stamp,x\n1,2\n3,\"2\n"), ", line 3: a quote is opened and never closed");
    EXPECT_NE(complaint_about("").find("is empty"), std::string::npos);
    EXPECT_NE(complaint_about("1,2\n3,4\n").find("header"), std::string::npos);
    EXPECT_NE(complaint_about("stamp\n1\n").find("names no channels"), std::string::npos);
    EXPECT_EQ(complaint_about("stamp,b\n1,?\n", channel_format::blob), ", line 2, column 'b': '?' is no base64");
}

TEST_F(FileSources, RawGivesWholeSamples) {
    const std::int16_t values[] = {1, 2, 3, 4, 5, 6, 7};
    raw_source source(input({reinterpret_cast<const char*>(values), sizeof values}), 4);
    const batch samples = all(source);
    EXPECT_EQ(samples.samples, 3u); // the seventh value is half a sample
    EXPECT_EQ(values_of<std::int16_t>(samples), (std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(FileSources, LinesAreTakenAsTheyAre) {
    lines_source source(input("one\n\n two\t\nlast \xC3\xA4"));
    EXPECT_EQ(all(source).texts, (std::vector<std::string>{"one", "", " two\t", "last \xC3\xA4"}));
}

TEST_F(FileSources, AStopEndsEverySource) {
    csv_source csv(input("stamp,x\n1,2\n"), channel_format::float64);
    batch samples;
    ASSERT_TRUE(csv.next(10, samples));
    lines_source lines(input("cut in the mid"));
    signal_.request();
    EXPECT_FALSE(csv.next(10, samples));
    EXPECT_FALSE(lines.next(10, samples)) << "a line that a stop cut is no line";
}

TEST_F(FileSources, AMissingFileAndAFolderAreErrors) {
    EXPECT_THROW(input_file(folder_ / "none", condition_), std::system_error);
    EXPECT_THROW(input_file(folder_ / "", condition_), std::system_error);
}

/// A capture of chunks with 2, 1 and 3 samples of int16.
std::string capture(bool with_end = true) {
    frame_writer writer;
    std::vector<std::byte> bytes;
    stream_info info;
    info.name = "captured";
    info.format = channel_format::int16;
    info.channel_count = 2;
    writer.begin(bytes, info);
    std::int16_t next = 0;
    double stamp = 0.1;
    std::uint64_t sequence = 0;
    for (const std::size_t samples : {2u, 1u, 3u}) {
        std::vector<std::int16_t> values(samples * 2);
        for (auto& value : values)
            value = next++;
        std::vector<double> stamps(samples);
        for (auto& s : stamps)
            s = stamp *= 1.1;
        writer.data(bytes, sequence, std::as_bytes(std::span(values)), stamps);
        sequence += samples;
    }
    if (with_end)
        writer.end(bytes, sequence, 1.0);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(FileSources, FramesGiveTheSameChunksAgain) {
    frames_source source(input(capture()));
    EXPECT_EQ(source.info().name, "captured");
    batch samples;
    std::int16_t expected = 0;
    double stamp = 0.1;
    for (const std::size_t count : {2u, 1u, 3u}) {
        ASSERT_TRUE(source.next(1, samples));
        ASSERT_EQ(samples.samples, count);
        for (const auto value : values_of<std::int16_t>(samples))
            EXPECT_EQ(value, expected++);
        for (const double s : samples.stamps)
            EXPECT_EQ(s, stamp *= 1.1);
    }
    EXPECT_FALSE(source.next(1, samples));
}

TEST_F(FileSources, ACaptureIsReadableUpToItsLastWholeRecord) {
    const std::string whole = capture(false);
    std::size_t most = 0;
    for (std::size_t length = whole.size(); length > 60; --length) {
        std::unique_ptr<frames_source> source;
        try {
            source = std::make_unique<frames_source>(input(whole.substr(0, length)));
        } catch (const bad_input&) {
            break; // cut within the stream's info
        }
        std::size_t total = 0;
        batch samples;
        while (source->next(1, samples))
            total += samples.samples;
        most = std::max(most, total);
        EXPECT_EQ(total, length == whole.size() ? 6u : total);
        EXPECT_TRUE(total == 6 || total == 3 || total == 2 || total == 0) << total;
    }
    EXPECT_EQ(most, 6u);
}

TEST_F(FileSources, WhatIsNoCaptureIsRefused) {
    EXPECT_THROW(frames_source(input("stamp,x\n1,2\n")), error);
    EXPECT_THROW(frames_source(input("")), bad_input);
}

} // namespace
} // namespace rivulet::tools
