#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

#include "config/keys.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;

config load(const environment& env) { return load_config(std::string("/dev/null"), env); }

std::string refusal(const environment& env) {
    try {
        load(env);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_config);
        return e.what();
    }
    return "";
}

TEST(Environment, EveryKeyCanBeSetByItsVariable) {
    EXPECT_EQ(load({{"RIVULET_SESSION_NAME", "lab 3"}}).session.name, "lab 3");
    EXPECT_EQ(load({{"RIVULET_TUNING_SEND_TIMEOUT", "0"}}).tuning.send_timeout, 0ms);
    EXPECT_EQ(load({{"RIVULET_TUNING_MAX_CONSUMERS", "3"}}).tuning.max_consumers, 3u);
    EXPECT_EQ(load({{"RIVULET_LOG_LEVEL", "error"}}).log.level, "error");
    for (const settings::key& key : settings::keys()) // a nonsense value shows that the variable is read
        EXPECT_EQ(refusal({{key.variable, "\n"}}).substr(0, key.variable.size() + 2), key.variable + ": ");
}

TEST(Environment, MistakesNameTheVariable) {
    EXPECT_EQ(refusal({{"RIVULET_PORTS_FIRST", "5k"}}),
              "RIVULET_PORTS_FIRST: \"5k\" is no whole number; allowed: 0 to 65535");
    EXPECT_EQ(refusal({{"RIVULET_PORTS_FIRST", "99999999999999999999"}}),
              "RIVULET_PORTS_FIRST: \"99999999999999999999\" is out of range; allowed: 0 to 65535");
    EXPECT_NE(refusal({{"RIVULET_TUNING_WATCHDOG", "15"}}).find("needs a unit"), std::string::npos);
    EXPECT_NE(refusal({{"RIVULET_PORTS_FIRST", "7"}}).find("RIVULET_PORTS_FIRST: first = 7"), std::string::npos);
}

TEST(Environment, UnknownKeyOfAKnownSectionIsAnError) {
    EXPECT_EQ(refusal({{"RIVULET_LOG_COLOUR", "red"}}),
              "RIVULET_LOG_COLOUR: no such setting; keys of [log]: level, format");
    EXPECT_EQ(refusal({{"RIVULET_LOG", "red"}}), "RIVULET_LOG: no such setting; keys of [log]: level, format");
    EXPECT_EQ(refusal({{"RIVULET_TUNING_WATCHDGO", "1s"}}),
              "RIVULET_TUNING_WATCHDGO: no such setting, did you mean RIVULET_TUNING_WATCHDOG?");
}

TEST(Environment, MisspeltSectionIsAnError) {
    EXPECT_EQ(refusal({{"RIVULET_TUNNING_WATCHDOG", "1s"}}),
              "RIVULET_TUNNING_WATCHDOG: no such setting, did you mean RIVULET_TUNING_WATCHDOG?");
}

TEST(Environment, NamesThatOrchestratorsMakeAreIgnored) {
    EXPECT_EQ(load({{"RIVULET_SERVICE_HOST", "10.0.0.1"},
                    {"RIVULET_PORT", "tcp://10.0.0.1:5000"},
                    {"RIVULET_PORT_5000_TCP_ADDR", "10.0.0.1"},
                    {"PATH", "/bin"}}),
              config{});
}

TEST(Environment, EmptyCountsAsNotSet) {
    EXPECT_EQ(load({{"RIVULET_SESSION_NAME", ""}, {"RIVULET_TUNING_SEND_TIMEOUT", ""}}), config{});
}

TEST(Environment, OfThisProcessIsRead) {
    ASSERT_EQ(::setenv("RIVULET_SESSION_NAME", "a=b", 1), 0);
    const environment env = process_environment();
    ::unsetenv("RIVULET_SESSION_NAME");
    EXPECT_EQ(env.at("RIVULET_SESSION_NAME"), "a=b");
    EXPECT_EQ(env.count("PATH"), 0u);
}

} // namespace
} // namespace rivulet
