#include "common/csv.hpp"

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

using record = std::vector<std::string>;

/// All records of a text that comes in pieces of `piece` bytes.
std::vector<record> read_all(std::string_view text, std::size_t piece = 1 << 20) {
    csv_reader reader;
    std::vector<record> records;
    std::vector<std::string_view> fields;
    const auto take = [&] {
        while (reader.next(fields))
            records.emplace_back(fields.begin(), fields.end());
    };
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
        reader.feed(text.substr(0, piece));
        take();
    }
    reader.finish();
    take();
    return records;
}

std::string complaint_about(std::string_view text) {
    try {
        read_all(text);
    } catch (const bad_input& e) {
        return e.what();
    }
    return "none";
}

TEST(Csv, PlainRecords) {
    EXPECT_EQ(read_all("a,b\n1,2\n"), (std::vector<record>{{"a", "b"}, {"1", "2"}}));
    EXPECT_EQ(read_all("a,b\r\n1,2\r\n"), (std::vector<record>{{"a", "b"}, {"1", "2"}}));
    EXPECT_EQ(read_all("a,b\n1,2"), (std::vector<record>{{"a", "b"}, {"1", "2"}}));
}

TEST(Csv, EmptyFieldsStay) {
    EXPECT_EQ(read_all(",\n,,x\n\"\"\n"), (std::vector<record>{{"", ""}, {"", "", "x"}, {""}}));
}

TEST(Csv, BlankLinesAndTheByteOrderMarkAreSkipped) {
    EXPECT_EQ(read_all("\xEF\xBB\xBF"
                       "a\n\n\r\nb\n"),
              (std::vector<record>{{"a"}, {"b"}}));
}

TEST(Csv, QuotedFieldsHoldAnything) {
    EXPECT_EQ(read_all("\"a,b\",\"c\"\"d\",\"e\nf\",\"\"\"\"\n"), (std::vector<record>{{"a,b", "c\"d", "e\nf", "\""}}));
}

TEST(Csv, WhatIsWrittenIsReadBackHoweverItIsCut) {
    using namespace std::string_literals;
    const std::vector<record> records = {{"plain", "", " spaced "},
                                         {"quo\"te", "\"", "\"\""},
                                         {"line\nbreak", "\r\n", "\r"},
                                         {",", ",,", "a,b"},
                                         {"\xC3\xA4\xE2\x82\xAC", "nul\0inside"s, "x"}};
    std::string text;
    for (const auto& fields : records) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
            text += i > 0 ? "," : "";
            append_csv_field(text, fields[i]);
        }
        text += '\n';
    }
    for (std::size_t piece = 1; piece <= text.size(); ++piece)
        ASSERT_EQ(read_all(text, piece), records) << piece;
}

TEST(Csv, ErrorsNameTheLine) {
    EXPECT_EQ(complaint_about("a\n\"x\ny\"\nb\"c\n"), "line 4: a quote inside a field that does not begin with one");
    EXPECT_EQ(complaint_about("a\n\"x\"y\n"), "line 2: text after a closing quote");
    EXPECT_EQ(complaint_about("a\n\"x\n"), "line 2: a quote is opened and never closed");
}

TEST(Csv, AnEndlessRecordIsRefused) {
    csv_reader reader(1000);
    std::vector<std::string_view> fields;
    reader.feed("\"" + std::string(2000, 'x'));
    EXPECT_THROW(reader.next(fields), bad_input);
}

} // namespace
} // namespace rivulet::tools
