#include "common/json.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace rivulet::tools {
namespace {

std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(Json, NestedObjectsAndArraysGetTheirCommas) {
    json_writer json;
    json.begin_object().field("a", 1).begin_array("b").element("x").element("y").end_array();
    json.begin_object("c").field("d", true).null("e").end_object().begin_array("f").end_array().end_object();
    EXPECT_EQ(json.text(), R"({"a":1,"b":["x","y"],"c":{"d":true,"e":null},"f":[]})");
}

TEST(Json, ArraysHoldObjects) {
    json_writer json;
    json.begin_object().begin_array("gaps");
    json.begin_object().field("n", 1).end_object().begin_object().field("n", 2).end_object();
    json.end_array().end_object();
    EXPECT_EQ(json.text(), R"({"gaps":[{"n":1},{"n":2}]})");
}

TEST(Json, NumbersKeepTheirValue) {
    json_writer json;
    json.begin_object().field("big", std::numeric_limits<std::uint64_t>::max()).field("x", 0.1);
    json.field("nan", std::numeric_limits<double>::quiet_NaN()).field("inf", -std::numeric_limits<float>::infinity());
    EXPECT_EQ(json.end_object().text(), R"({"big":18446744073709551615,"x":0.1,"nan":null,"inf":-1e999})");
}

TEST(Json, StringsAreEscaped) {
    using namespace std::string_view_literals;
    EXPECT_EQ(quoted("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
    EXPECT_EQ(quoted("\0\x1f\x7f"sv), R"("\u0000\u001f\u007f")");
    EXPECT_EQ(quoted("\xC2\xB5V \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xC2\xB5V \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(Json, BytesThatAreNoUtf8BecomeReplacementCharacters) {
    const std::string mark = "\xEF\xBF\xBD";
    EXPECT_EQ(quoted("a\xFFz"), "\"a" + mark + "z\"");
    EXPECT_EQ(quoted("\xC0\x80"), "\"" + mark + mark + "\"");                       // overlong NUL
    EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"");            // surrogate
    EXPECT_EQ(quoted("\xE2\x82"), "\"" + mark + mark + "\"");                       // cut short
    EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\""); // beyond U+10FFFF
}

} // namespace
} // namespace rivulet::tools
