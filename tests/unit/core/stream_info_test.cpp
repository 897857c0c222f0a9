#include <rivulet/error.hpp>
#include <rivulet/stream_info.hpp>

#include <cmath>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

std::string refusal(const stream_info& info) {
    try {
        validate(info);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        return e.what();
    }
    return "";
}

TEST(StreamInfo, AcceptsWhatTheReadmeShows) {
    stream_info info{.name = "EEG", .type = "EEG", .channel_count = 64, .nominal_rate_hz = 1000};
    info.channel(0).label("Fp1").unit("microvolts");
    EXPECT_EQ(refusal(info), "");
    EXPECT_EQ(info.label(0), "Fp1");
    EXPECT_EQ(info.unit(0), "microvolts");
    EXPECT_EQ(info.label(1), "");
}

TEST(StreamInfo, NamesTheFieldThatIsWrong) {
    EXPECT_NE(refusal({.name = ""}).find("name"), std::string::npos);
    EXPECT_NE(refusal({.name = "a\nb"}).find("name"), std::string::npos);
    EXPECT_NE(refusal({.name = "x", .channel_count = 0}).find("channel_count is 0"), std::string::npos);
    EXPECT_NE(refusal({.name = "x", .channel_count = 1ull << 40}).find("1099511627776"), std::string::npos);
    EXPECT_NE(refusal({.name = "x", .nominal_rate_hz = std::nan("")}).find("nominal_rate_hz"), std::string::npos);
    EXPECT_NE(refusal({.name = "x", .nominal_rate_hz = -1}).find("nominal_rate_hz"), std::string::npos);
    EXPECT_NE(refusal({.name = "x", .channel_count = 2, .format = channel_format::blob}).find("blob"),
              std::string::npos);
}

TEST(StreamInfo, MetadataPathsReachNestedElements) {
    metadata desc("desc");
    desc.at_path("amplifier.settings.gain").value("24");
    EXPECT_EQ(desc.value_at("amplifier.settings.gain"), "24");
    EXPECT_EQ(desc.value_at("amplifier.nothing"), "");
    EXPECT_EQ(desc.find("amplifier")->find("settings")->children().size(), 1u);
}

} // namespace
} // namespace rivulet
