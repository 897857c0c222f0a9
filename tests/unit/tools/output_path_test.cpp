#include "common/output_path.hpp"

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

stream_info stream(std::string name) {
    stream_info info;
    info.name = std::move(name);
    info.type = "EEG";
    info.uid = "0123";
    return info;
}

TEST(OutputPath, PlaceholdersAreFilledIn) {
    EXPECT_EQ(expand_path("out/{name}-{uid}.{type}.csv", stream("Amp")), "out/Amp-0123.EEG.csv");
    EXPECT_EQ(expand_path("plain.csv", stream("Amp")), "plain.csv");
}

TEST(OutputPath, AStreamCannotChooseAnotherFolder) {
    EXPECT_EQ(expand_path("out/{name}.csv", stream("../../etc/passwd")), "out/_._.._etc_passwd.csv");
    EXPECT_EQ(expand_path("out/{name}", stream("..")), "out/_.");
    EXPECT_EQ(expand_path("{name}", stream("-rf")), "_rf");
    EXPECT_EQ(expand_path("{name}", stream("a\nb\tc\x7f")), "a_b_c_");
    EXPECT_EQ(expand_path("{name}", stream("")), "_");
}

TEST(OutputPath, ANameIsNotExpandedAgain) { EXPECT_EQ(expand_path("{name}", stream("{uid}")), "{uid}"); }

TEST(OutputPath, LongNamesAreCutBetweenCharacters) {
    std::string name = "x";
    for (int i = 0; i < 100; ++i)
        name += "\xE2\x82\xAC";
    const std::string path = expand_path("{name}", stream(name));
    EXPECT_LE(path.size(), 120u);
    EXPECT_EQ(path.size() % 3, 1u); // whole characters of three bytes after the x
}

TEST(OutputPath, MistakesAreNamed) {
    EXPECT_EQ(check_path_template("a/{name}-{uid}.csv"), "");
    EXPECT_NE(check_path_template("{nmae}.csv").find("{nmae}"), std::string::npos);
    EXPECT_EQ(check_path_template("{name.csv"), "a brace without its partner");
    EXPECT_EQ(check_path_template("name}.csv"), "a brace without its partner");
}

} // namespace
} // namespace rivulet::tools
