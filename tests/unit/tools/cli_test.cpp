#include "common/cli.hpp"

#include <rivulet/options.hpp>

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

struct outcome {
    std::optional<int> code;
    std::string text; ///< on stderr and stdout
    double rate = 250;
    std::optional<std::uint64_t> count;
    delivery mode = delivery::async;
};

outcome parse(std::vector<const char*> arguments) {
    outcome result;
    common_options common;
    CLI::App app("Test.", "tool");
    add_number(app, "--rate", result.rate, 0, 1000, "HZ", "rate");
    add_integer(app, "--count", result.count, 1, 100, "N", "count");
    add_choice<delivery, delivery>(app, "--mode", result.mode, {{"async", delivery::async}, {"sync", delivery::sync}},
                                   "mode");
    set_up_command_line(app, "  tool --rate 5", common);
    arguments.insert(arguments.begin(), "tool");
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    result.code = parse_command_line(app, static_cast<int>(arguments.size()), arguments.data());
    result.text = testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
    return result;
}

TEST(CommandLine, ValuesArrive) {
    const outcome result = parse({"--rate", "12.5", "--count=7", "--mode", "sync"});
    EXPECT_FALSE(result.code) << result.text;
    EXPECT_EQ(result.rate, 12.5);
    EXPECT_EQ(result.count, 7u);
    EXPECT_EQ(result.mode, delivery::sync);
}

TEST(CommandLine, HelpHasExamplesAndVersionTheVersion) {
    EXPECT_EQ(parse({"--help"}).code, 0);
    EXPECT_NE(parse({"--help"}).text.find("Examples:\n  tool --rate 5"), std::string::npos);
    EXPECT_EQ(parse({"--version"}).code, 0);
    EXPECT_EQ(parse({"--version"}).text.rfind("tool 0.", 0), 0u);
}

TEST(CommandLine, AnUnknownOptionGetsAHint) {
    const outcome result = parse({"--raet", "5"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.text.find("--raet"), std::string::npos) << result.text;
    EXPECT_NE(result.text.find("did you mean --rate?"), std::string::npos) << result.text;
}

TEST(CommandLine, BadValuesSayWhatIsAllowed) {
    const std::pair<std::vector<const char*>, const char*> cases[] = {
        {{"--rate", "fast"}, "--rate: 'fast' will not do, needed is a number from 0 to 1000"},
        {{"--rate", "-1"}, "'-1' will not do"},
        {{"--rate", "nan"}, "'nan' will not do"},
        {{"--rate", "1e9"}, "a number from 0 to 1000"},
        {{"--count", "1.5"}, "--count: '1.5' will not do, needed is a whole number from 1 to 100"},
        {{"--count", "-3"}, "'-3' will not do"},
        {{"--mode", "snyc"}, "--mode: 'snyc' will not do, needed is one of async, sync"},
        {{"--log-level", "loud"}, "one of trace, debug, info, warn, error, off"}};
    for (const auto& [arguments, message] : cases) {
        const outcome result = parse(arguments);
        EXPECT_EQ(result.code, 2) << message;
        EXPECT_NE(result.text.find(message), std::string::npos) << result.text;
    }
}

TEST(CommandLine, AMissingValueAndAnOptionGivenTwiceAreErrors) {
    EXPECT_EQ(parse({"--rate"}).code, 2);
    EXPECT_EQ(parse({"--rate", "1", "--rate", "2"}).code, 2);
    EXPECT_EQ(parse({"stray"}).code, 2);
}

TEST(CommandLine, ErrorsBecomeExitCodes) {
    EXPECT_EQ(exit_code_of(error(errc::bad_endpoint, "x")), 2);
    EXPECT_EQ(exit_code_of(error(errc::not_connected, "x")), 3);
    EXPECT_EQ(exit_code_of(error(errc::address_in_use, "x")), 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_tool("tool", []() -> int { throw usage_error("wrong"); }), 2);
    EXPECT_EQ(run_tool("tool", []() -> int { throw std::runtime_error("broken"); }), 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "tool: wrong\ntool: broken\n");
}

TEST(CommandLine, SecondsBecomeDurations) {
    EXPECT_EQ(to_duration(1.5), std::chrono::milliseconds(1500));
    EXPECT_EQ(to_duration(0), std::chrono::nanoseconds(0));
    EXPECT_EQ(to_duration(0, true), forever);
    EXPECT_EQ(to_duration(1e300), forever);
}

} // namespace
} // namespace rivulet::tools
