#include "platform/log.hpp"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <spdlog/sinks/ostream_sink.h>
#include <sstream>
#include <thread>
#include <vector>

namespace rivulet::platform {
namespace {

using namespace std::chrono_literals;

/// A logger that writes to a string, at a time that the test sets.
class Log : public testing::Test {
protected:
    logger_options options(log_level level, bool json) {
        return {.level = level,
                .json = json,
                .sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out_),
                .clock = [this] {
                    return log_time{std::chrono::system_clock::time_point(wall_), local_};
                }};
    }
    std::string taken() {
        std::string text = out_.str();
        out_.str("");
        return text;
    }
    static std::size_t lines(const std::string& text) {
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    std::ostringstream out_;
    std::chrono::milliseconds wall_{1769860800123}; // 2026-01-31T12:00:00.123Z
    double local_ = 100;
};

TEST_F(Log, TextHasTimeLevelEventMessageAndFields) {
    logger log(options(log_level::info, false));
    log.warn("consumer_kicked", {{"stream", "EEG"}, {"after_s", 15}, {"endpoint", "zmq+tcp://h:5000"}}, "took nothing");
    EXPECT_EQ(taken(), "2026-01-31T12:00:00.123Z warn rivulet consumer_kicked: took nothing stream=EEG after_s=15 "
                       "endpoint=zmq+tcp://h:5000\n");
    log.info("ready", {}, "here");
    EXPECT_EQ(taken(), "2026-01-31T12:00:00.123Z info rivulet ready: here\n");
}

TEST_F(Log, JsonIsOneObjectALine) {
    logger log(options(log_level::debug, true));
    log.error("consumer_kicked", {{"stream", "a\"b\\c"}, {"n", 18446744073709551615u}, {"late", true}, {"s", 0.25}},
              "took\nnothing");
    EXPECT_EQ(taken(), "{\"time\":\"2026-01-31T12:00:00.123Z\",\"level\":\"error\",\"program\":\"rivulet\",\"event\":"
                       "\"consumer_kicked\",\"message\":\"took\\u000anothing\",\"stream\":\"a\\\"b\\\\c\",\"n\":"
                       "18446744073709551615,\"late\":true,\"s\":0.25}\n");
}

TEST_F(Log, WhatAPeerSendsCannotBreakALine) {
    logger text(options(log_level::info, false));
    text.warn("joined", {{"name", "a\n2026 warn fake: \x1b[2J\xff"}}, "100 % {} %v");
    EXPECT_EQ(taken(), "2026-01-31T12:00:00.123Z warn rivulet joined: 100 % {} %v "
                       "name=\"a\\x0a2026 warn fake: \\x1b[2J\\xff\"\n");
    logger json(options(log_level::info, true));
    json.warn("joined", {{"name", "\x1b\xff\u00e4\x7f"}, {"nan", std::numeric_limits<double>::quiet_NaN()}}, "");
    EXPECT_NE(taken().find("\"message\":\"\",\"name\":\"\\u001b\\ufffd\u00e4\\u007f\",\"nan\":null}\n"),
              std::string::npos);
}

TEST_F(Log, LongTextIsCut) {
    for (const bool json : {false, true}) {
        logger log(options(log_level::info, json));
        log.info("x", {{"name", std::string(100'000, 'n')}}, std::string(100'000, 't'));
        EXPECT_LT(taken().size(), 3000u);
    }
}

TEST_F(Log, AmbiguousValuesAreQuotedInText) {
    logger log(options(log_level::info, false));
    log.info("x", {{"a", ""}, {"b", "c d"}, {"e", "f=g"}, {"h", "\"i\""}}, "");
    EXPECT_EQ(taken(), "2026-01-31T12:00:00.123Z info rivulet x:  a=\"\" b=\"c d\" e=\"f=g\" h=\"\\\"i\\\"\"\n");
}

TEST_F(Log, LevelDecidesWhatIsWritten) {
    for (const auto level : {log_level::trace, log_level::debug, log_level::info, log_level::warn, log_level::error}) {
        logger log(options(level, false));
        for (const auto message :
             {log_level::trace, log_level::debug, log_level::info, log_level::warn, log_level::error}) {
            log.log(message, "x", {}, "");
            EXPECT_EQ(!taken().empty(), message >= level);
            EXPECT_EQ(log.enabled(message), message >= level);
        }
    }
    logger log(options(log_level::off, false));
    log.error("x", {}, "");
    log.log(log_level::off, "x", {}, "");
    EXPECT_EQ(taken(), "");
}

TEST_F(Log, RepeatsAreSummedUp) {
    logger log(options(log_level::info, false));
    for (int i = 0; i < 12; ++i)
        log.warn("lost", {{"stream", "EEG"}, {"samples", i}}, "gap");
    EXPECT_EQ(lines(taken()), log_throttle::burst);
    log.warn("lost", {{"stream", "EMG"}}, "another subject");
    EXPECT_EQ(lines(taken()), 1u);
    log.sweep();
    EXPECT_EQ(taken(), "");
    local_ += log_throttle::window_seconds;
    log.sweep();
    EXPECT_EQ(taken(), "2026-01-31T12:00:00.123Z warn rivulet lost: 7 similar suppressed subject=EEG suppressed=7\n");
}

TEST_F(Log, SummaryComesBeforeTheNextMessageAndAtTheEnd) {
    {
        logger log(options(log_level::info, false));
        for (int i = 0; i < 12; ++i)
            log.warn("lost", {{"stream", "EEG"}}, "gap");
        taken();
        local_ += log_throttle::window_seconds;
        log.info("ready", {}, "");
        const std::string text = taken();
        EXPECT_EQ(lines(text), 2u);
        EXPECT_LT(text.find("suppressed=7"), text.find("ready"));
        for (int i = 0; i < 3; ++i)
            log.warn("lost", {{"stream", "EEG"}}, "gap");
        EXPECT_EQ(lines(taken()), 1u);
    }
    EXPECT_NE(taken().find("suppressed=2"), std::string::npos);
}

TEST_F(Log, SummaryHasTheLevelOfWhatItSumsUp) {
    logger log(options(log_level::info, false));
    for (int i = 0; i < 12; ++i) {
        log.info("joined", {{"stream", "EEG"}}, "");
        log.error("failed", {{"stream", "EEG"}}, "");
    }
    taken();
    local_ += log_throttle::window_seconds;
    log.sweep();
    const std::string text = taken();
    EXPECT_NE(text.find("Z info rivulet joined: 7 similar"), std::string::npos) << text;
    EXPECT_NE(text.find("Z error rivulet failed: 7 similar"), std::string::npos) << text;
}

TEST_F(Log, DebugIsNeverSuppressed) {
    logger log(options(log_level::debug, false));
    for (int i = 0; i < 100; ++i)
        log.debug("frame", {{"stream", "EEG"}}, "");
    EXPECT_EQ(lines(taken()), 100u);
}

TEST_F(Log, ThreadsWriteWholeLines) {
    logger log(options(log_level::debug, false));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&log] {
            for (int i = 0; i < 200; ++i) {
                log.debug("a", {{"k", 1}}, "text");
                log.warn("b", {{"k", 1}}, "text");
            }
        });
    for (std::thread& t : threads)
        t.join();
    std::istringstream in(taken());
    std::size_t warnings = 0;
    std::size_t others = 0;
    for (std::string line; std::getline(in, line);) {
        warnings += line == "2026-01-31T12:00:00.123Z warn rivulet b: text k=1" ? 1 : 0;
        others += line == "2026-01-31T12:00:00.123Z debug rivulet a: text k=1" ? 1 : 0;
    }
    EXPECT_EQ(warnings, log_throttle::burst);
    EXPECT_EQ(others, 800u);
}

TEST(LogLevel, NamesAreRead) {
    for (const auto level :
         {log_level::trace, log_level::debug, log_level::info, log_level::warn, log_level::error, log_level::off})
        EXPECT_EQ(parse_log_level(to_string(level)), level);
    EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

TEST(MakeLogger, AutoIsWarn) {
    EXPECT_TRUE(make_logger({})->enabled(log_level::warn));
    EXPECT_FALSE(make_logger({})->enabled(log_level::info));
    config::log_section settings;
    settings.level = "debug";
    EXPECT_TRUE(make_logger(settings)->enabled(log_level::debug));
}

TEST(MakeLogger, WritesToStandardErrorWithTheClocksOfThisHost) {
    testing::internal::CaptureStderr();
    const auto before = std::chrono::system_clock::now();
    config::log_section settings;
    settings.format = "json";
    make_logger(settings)->error("x", {}, "");
    const std::string line = testing::internal::GetCapturedStderr();
    std::tm parts{};
    ASSERT_NE(::strptime(line.c_str(), "{\"time\":\"%Y-%m-%dT%H:%M:%S", &parts), nullptr) << line;
    const auto written = std::chrono::system_clock::from_time_t(::timegm(&parts));
    EXPECT_LT(written - before, 60s);
    EXPECT_LT(before - written, 60s);
}

} // namespace
} // namespace rivulet::platform
