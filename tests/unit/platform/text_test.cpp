#include "platform/text.hpp"

#include <array>
#include <gtest/gtest.h>

namespace rivulet::platform {
namespace {

TEST(Printable, EscapesWhatWouldBreakALineOrATerminal) {
    EXPECT_EQ(printable("plain \u00e4\u4e2d"), "plain \u00e4\u4e2d");
    EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
}

TEST(Printable, CutsLongTextBetweenCharacters) {
    EXPECT_EQ(printable("abcdef", 3), "abc...");
    EXPECT_EQ(printable("ab\u4e2d", 4), "ab...");
    EXPECT_EQ(printable("abc", 3), "abc");
}

TEST(Utf8, AcceptsOnlyShortestFormsOfRealCharacters) {
    EXPECT_TRUE(is_utf8("a\u00e4\u4e2d\U0001F600"));
    for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xb8", "\xc3("})
        EXPECT_FALSE(is_utf8(bad));
}

TEST(Nearest, FindsSlipsAndNothingElse) {
    const std::array<std::string_view, 4> names{"name", "watchdog", "send_timeout", "level"};
    EXPECT_EQ(nearest("watchdgo", names), "watchdog");
    EXPECT_EQ(nearest("wachdgo", names), "watchdog");
    EXPECT_EQ(nearest("WATCHDOG", names), "watchdog");
    EXPECT_EQ(nearest("send-timeout", names), "send_timeout");
    EXPECT_EQ(nearest("nam", names), "name");
    EXPECT_EQ(nearest("nm", names), "");
    EXPECT_EQ(nearest("colour", names), "");
    EXPECT_EQ(nearest("", names), "");
    EXPECT_EQ(nearest(std::string(1'000'000, 'x'), names), "");
}

} // namespace
} // namespace rivulet::platform
