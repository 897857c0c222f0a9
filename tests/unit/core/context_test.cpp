#include <rivulet/context.hpp>
#include <rivulet/error.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;

/// What a context with these settings writes while a consumer comes to a stream and goes.
std::string log_of_a_visit(const config& settings) {
    testing::internal::CaptureStderr();
    {
        const context ctx(settings);
        outlet out({.name = "EEG"}, {.endpoints = {"inproc://context_test"}, .ctx = ctx});
        const inlet in("inproc://context_test", {.name = "viewer", .ctx = ctx});
        EXPECT_TRUE(out.wait_for_consumers(60s));
    }
    return testing::internal::GetCapturedStderr();
}

TEST(Context, RefusesSettingsOutOfTheirRange) {
    config settings;
    settings.log.level = "loud";
    try {
        const context made(settings);
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_config);
        EXPECT_NE(std::string(e.what()).find("[log] level: \"loud\""), std::string::npos) << e.what();
    }
}

TEST(Context, SaysNothingOfWhatIsUsual) { EXPECT_EQ(log_of_a_visit({}), ""); }

TEST(Context, LogsConsumersWhenAskedTo) {
    config settings;
    settings.log.level = "debug";
    EXPECT_NE(log_of_a_visit(settings).find("debug rivulet consumer_joined: a consumer joined stream=EEG consumer="),
              std::string::npos);
    settings.log.format = "json";
    EXPECT_NE(log_of_a_visit(settings).find("\"event\":\"consumer_joined\""), std::string::npos);
}

} // namespace
} // namespace rivulet
