#include <discovery/glob.hpp>

#include <rivulet/resolver.hpp>

#include <gtest/gtest.h>

namespace rivulet {
namespace {

using discovery::glob_matches;

TEST(Glob, PlainTextMatchesItselfOnly) {
    EXPECT_TRUE(glob_matches("EEG", "EEG"));
    EXPECT_FALSE(glob_matches("EEG", "eeg"));
    EXPECT_FALSE(glob_matches("EEG", "EEG2"));
    EXPECT_FALSE(glob_matches("EEG2", "EEG"));
    EXPECT_TRUE(glob_matches("", ""));
    EXPECT_FALSE(glob_matches("", "x"));
    for (const char* text : {"it's", "a\"b", "a b", "(x)", "$HOME", "a.b", "a+b", "{a,b}"})
        EXPECT_TRUE(glob_matches(text, text)) << text;
    EXPECT_FALSE(glob_matches("a.b", "axb"));
}

TEST(Glob, StarsMatchAnything) {
    for (const char* pattern : {"*", "EEG*", "*EEG", "*E*", "E*G", "**", "E**G*"})
        EXPECT_TRUE(glob_matches(pattern, "EEG")) << pattern;
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("a*b*c", "aXbYbZc"));
    EXPECT_FALSE(glob_matches("a*b*c", "aXbYbZ"));
    EXPECT_FALSE(glob_matches("E*X", "EEG"));
}

TEST(Glob, QuestionMarksMatchACharacterNotAByte) {
    EXPECT_TRUE(glob_matches("?EG", "EEG"));
    EXPECT_FALSE(glob_matches("?EG", "EG"));
    EXPECT_TRUE(glob_matches("gr?n", "gr\u00fcn"));
    EXPECT_FALSE(glob_matches("gr??n", "gr\u00fcn"));
    EXPECT_TRUE(glob_matches("*?n", "gr\u00fcn"));
}

TEST(Glob, SetsMatchOneOfThem) {
    EXPECT_TRUE(glob_matches("amp-[0-9]", "amp-7"));
    EXPECT_FALSE(glob_matches("amp-[0-9]", "amp-x"));
    EXPECT_TRUE(glob_matches("amp-[!0-9]", "amp-x"));
    EXPECT_TRUE(glob_matches("[]]", "]"));
    EXPECT_TRUE(glob_matches("[a-]", "-"));
    EXPECT_TRUE(glob_matches("[abc", "[abc")) << "no set without its end";
    EXPECT_TRUE(glob_matches("[", "["));
}

TEST(Glob, ABackslashTakesTheNextLiterally) {
    EXPECT_TRUE(glob_matches("a\\*", "a*"));
    EXPECT_FALSE(glob_matches("a\\*", "ab"));
    EXPECT_TRUE(glob_matches("a\\", "a\\"));
}

TEST(Glob, ManyStarsTakeNoExponentialTime) {
    std::string pattern, text(5000, 'a');
    for (int i = 0; i < 50; ++i)
        pattern += "*a";
    EXPECT_FALSE(glob_matches(pattern + "*b", text));
}

TEST(Selector, AllThatIsGivenMustMatch) {
    found_stream s;
    s.info.name = "EEG-1";
    s.info.type = "EEG";
    s.info.source_id = "amp's";
    s.info.uid = "u1";
    s.info.channel_count = 8;
    EXPECT_TRUE(matches({}, s));
    EXPECT_TRUE(matches({.name = "EEG*", .type = "EEG"}, s));
    EXPECT_FALSE(matches({.name = "EEG*", .type = "Markers"}, s));
    EXPECT_TRUE(matches({.source_id = "amp's"}, s));
    EXPECT_FALSE(matches({.uid = "u"}, s));
    EXPECT_TRUE(matches({.where = [](const found_stream& f) { return f.info.channel_count == 8; }}, s));
    EXPECT_FALSE(matches({.name = "EEG*", .where = [](const found_stream&) { return false; }}, s));
}

TEST(Selector, SaysWhatItMeans) {
    EXPECT_EQ(to_string(stream_selector{}), "any stream");
    EXPECT_EQ(to_string(stream_selector{.name = "EEG*", .source_id = "a"}), "name \"EEG*\", source id \"a\"");
    EXPECT_EQ(to_string(stream_selector{.where = [](const found_stream&) { return true; }}), "a condition");
}

} // namespace
} // namespace rivulet
