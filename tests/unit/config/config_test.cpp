#include <rivulet/clock.hpp>
#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;

std::string refusal(const std::string& text) {
    try {
        parse_config(text, "lab.toml");
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_config);
        return e.what();
    }
    return "";
}

std::string refusal(const config& values) {
    try {
        validate(values);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_config);
        return e.what();
    }
    return "";
}

TEST(Config, EmptyTextGivesTheDefaults) { EXPECT_EQ(parse_config("", "lab.toml"), config{}); }

TEST(Config, EveryKindOfValueIsRead) {
    const config c = parse_config("[session]\nname = 'Labor 3 \u00e4'\n"
                                  "[ports]\nfirst = 5000\nlast = 5100\n"
                                  "[tuning]\nwatchdog = '2min'\nlinger = '250ms'\nbuffer = '1.1s'\nmax_frame = 8192\n"
                                  "[log]\nlevel = 'debug'\nformat = 'json'\n",
                                  "lab.toml");
    EXPECT_EQ(c.session.name, "Labor 3 \u00e4");
    EXPECT_EQ(c.ports.first, 5000);
    EXPECT_EQ(c.ports.last, 5100);
    EXPECT_EQ(c.tuning.watchdog, 2min);
    EXPECT_EQ(c.tuning.linger, 250ms);
    EXPECT_EQ(c.tuning.buffer, 1100ms);
    EXPECT_EQ(c.tuning.max_frame, 8192u);
    EXPECT_EQ(c.log.level, "debug");
    EXPECT_EQ(c.log.format, "json");
    EXPECT_EQ(c.tuning.keepalive, config{}.tuning.keepalive);
}

TEST(Config, SendTimeoutFollowsTheWatchdogUntilItIsSet) {
    EXPECT_EQ(parse_config("tuning.watchdog = '20s'", "x").effective_send_timeout(), 20s);
    EXPECT_EQ(parse_config("tuning.watchdog = '20s'\ntuning.send_timeout = '200ms'", "x").effective_send_timeout(),
              200ms);
}

TEST(Config, SendTimeoutZeroMeansForEver) {
    for (const char* zero : {"0", "'0'", "'0s'", "'0ms'"})
        EXPECT_EQ(parse_config("tuning.send_timeout = " + std::string(zero), "x").effective_send_timeout(), forever);
}

TEST(Config, UnknownKeyNamesFileLineKeyAndTheNearest) {
    EXPECT_EQ(refusal("[tuning]\n\nwatchdgo = '1s'\n"),
              "lab.toml:3: [tuning] watchdgo: unknown key, did you mean watchdog?");
    EXPECT_EQ(refusal("[tuning]\nsend-timeout = '1s'\n"),
              "lab.toml:2: [tuning] send-timeout: unknown key, did you mean send_timeout?");
    EXPECT_EQ(refusal("[log]\ncolour = 'red'\n"),
              "lab.toml:2: [log] colour: unknown key; keys of [log]: level, format");
    EXPECT_EQ(refusal("[log]\nwatchdog = '1s'\n"),
              "lab.toml:2: [log] watchdog: unknown key here; it belongs below [tuning]");
}

TEST(Config, UnknownSectionIsNamed) {
    EXPECT_EQ(refusal("\n[tunning]\n"), "lab.toml:2: [tunning]: unknown section, did you mean [tuning]?");
    EXPECT_EQ(refusal("[colours]\n"), "lab.toml:1: [colours]: unknown section; sections: session, ports, discovery, "
                                      "tuning, zmq, sockopts, posix, security, log");
    EXPECT_EQ(refusal("watchdog = '1s'\n"), "lab.toml:1: watchdog stands outside its section; put it below [tuning]");
    EXPECT_EQ(refusal("tuning = 3\n"), "lab.toml:1: tuning is a section; write [tuning] on a line of its own");
    EXPECT_EQ(refusal("[[tuning]]\n"), "lab.toml:1: tuning is a section; write [tuning] on a line of its own");
}

TEST(Config, WrongTypeSaysWhatIsThereAndWhatIsAllowed) {
    EXPECT_EQ(refusal("[ports]\nfirst = 'high'\n"),
              "lab.toml:2: [ports] first: \"high\" is text, not a whole number; allowed: 0 to 65535");
    EXPECT_EQ(refusal("[ports]\nfirst = 1.5\n"),
              "lab.toml:2: [ports] first: 1.5 is a number with a fraction, not a whole number; allowed: 0 to 65535");
    EXPECT_EQ(refusal("[session]\nname = 3\n"), "lab.toml:2: [session] name: 3 is a whole number, not text in quotes; "
                                                "allowed: 1 to 64 bytes of UTF-8, no control characters");
    for (const char* value : {"[1]", "{a=1}", "true", "1979-05-27", "07:32:00"})
        EXPECT_NE(refusal("[tuning]\nwatchdog = " + std::string(value)).find("lab.toml:2: [tuning] watchdog: "),
                  std::string::npos);
}

TEST(Config, DurationNeedsAUnit) {
    EXPECT_EQ(refusal("[tuning]\nwatchdog = 15\n"),
              "lab.toml:2: [tuning] watchdog: 15 is a whole number; a duration needs a unit: \"200ms\", \"15s\", "
              "\"2min\", \"1h\"; allowed: \"100ms\" to \"24h\"");
    for (const char* bad : {"15", "15 parsecs", "s", "", "inf s", "nans", "1e3s", "1,5s", "15s15", "0x10s", "15S", "'"})
        EXPECT_NE(refusal("[tuning]\nwatchdog = \"" + std::string(bad) + "\"").find("is no duration"),
                  std::string::npos)
            << bad;
    EXPECT_EQ(parse_config("tuning.watchdog = '15 s'", "x").tuning.watchdog, 15s);
}

TEST(Config, PermissionsAreOctalText) {
    EXPECT_EQ(parse_config("posix.mode = '0600'", "x").posix.mode, 0600u);
    EXPECT_EQ(parse_config("posix.mode = '777'", "x").posix.mode, 0777u);
    EXPECT_EQ(refusal("[posix]\nmode = 660\n"), "lab.toml:2: [posix] mode: 660 is a whole number, not text in quotes; "
                                                "allowed: \"0000\" to \"0777\", octal");
    EXPECT_EQ(refusal("[posix]\nmode = '1777'\n"),
              "lab.toml:2: [posix] mode: \"1777\" is out of range; allowed: \"0000\" to \"0777\", octal");
    for (const char* bad : {"", "rw", "0o660", "-1", "0680", "99999999999999999999"})
        EXPECT_NE(refusal("posix.mode = '" + std::string(bad) + "'").find("is no octal number"), std::string::npos)
            << bad;
}

TEST(Config, RangesAreChecked) {
    for (const char* bad :
         {"ports.first = 65536", "ports.first = -1", "ports.first = 9223372036854775807", "tuning.watchdog = '99ms'",
          "tuning.watchdog = '25h'", "tuning.watchdog = '-1s'", "tuning.watchdog = '0s'", "tuning.send_timeout = '-1s'",
          "tuning.watchdog = '99999999999999999999999999h'", "tuning.max_frame = 0", "tuning.max_frame = 4294967296",
          "tuning.max_consumers = 0", "session.name = ''", "session.name = \"a\\nb\"", "log.level = 'loud'"})
        EXPECT_NE(refusal(bad).find("; allowed: "), std::string::npos) << bad;
    EXPECT_EQ(refusal("[tuning]\nwatchdog = '0.5ms'"), "lab.toml:2: [tuning] watchdog: \"0.5ms\" is finer than a "
                                                       "millisecond; allowed: \"100ms\" to \"24h\"");
    EXPECT_NE(refusal("session.name = '" + std::string(65, 'x') + "'").find("1 to 64 bytes"), std::string::npos);
    EXPECT_EQ(parse_config("session.name = '" + std::string(64, 'x') + "'", "x").session.name.size(), 64u);
}

TEST(Config, ChoiceOffersTheNearest) {
    EXPECT_EQ(refusal("[log]\nlevel = 'inof'\n"),
              "lab.toml:2: [log] level: \"inof\" is unknown, did you mean \"info\"?; "
              "allowed: \"auto\", \"trace\", \"debug\", \"info\", \"warn\", \"error\", \"off\"");
}

TEST(Config, ValuesThatContradictEachOtherAreRefused) {
    EXPECT_EQ(
        refusal("[ports]\nfirst = 6000\nlast = 5000\n"),
        "lab.toml:3: [ports] last: first = 6000 and last = 5000 make no range; allowed: both 0, or first <= last");
    EXPECT_NE(refusal("[ports]\nfirst = 6000\n").find("lab.toml:2: [ports] first: "), std::string::npos);
    EXPECT_NE(
        refusal("[tuning]\nwatchdog = '2s'\n").find("lab.toml:2: [tuning] watchdog: watchdog is 2000 ms and keepalive"),
        std::string::npos);
}

TEST(Config, SyntaxErrorNamesFileAndLine) {
    for (const char* bad : {"[session]\nname = \n", "[session]\nname = 'a'\nname = 'b", "[session]\nname = \"\\q\"\n"})
        EXPECT_EQ(refusal(bad).substr(0, 9), "lab.toml:") << refusal(bad);
    EXPECT_EQ(refusal("[session]\nname = \n").substr(0, 11), "lab.toml:2:");
    EXPECT_EQ(refusal("[session]\nname = 'a'\nname = 'b'\n").substr(0, 11), "lab.toml:3:");
    EXPECT_EQ(refusal(std::string(100000, '[')).substr(0, 11), "lab.toml:1:");
}

TEST(Config, EveryFindingIsReportedInTheOrderOfTheLines) {
    EXPECT_EQ(refusal("[zmq]\nwindow = 1\n[log]\nlevle = 'info'\n"),
              "lab.toml:2: [zmq] window: unknown key; keys of [zmq]: window_frames, window_bytes, max_sockets\n"
              "lab.toml:4: [log] levle: unknown key, did you mean level?");
}

TEST(Config, HostileNamesStayOnOneLineOfTheMessage) {
    const std::string text = refusal("[log]\n\"a\\nb\\u001b[2J\" = 1\n");
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_LT(refusal("[log]\n" + std::string(50000, 'k') + " = 1\n").size(), 400u);
}

TEST(Config, ValidateChecksWhatAProgramSet) {
    EXPECT_EQ(refusal(config{}), "");
    config c;
    c.tuning.watchdog = 0ms;
    EXPECT_EQ(refusal(c), "[tuning] watchdog: \"0s\" is out of range; allowed: \"100ms\" to \"24h\"");
    c = {};
    c.log.level = "loud";
    EXPECT_NE(refusal(c).find("[log] level: \"loud\""), std::string::npos);
    c = {};
    c.ports.first = 7;
    EXPECT_NE(refusal(c).find("[ports] last: "), std::string::npos);
}

} // namespace
} // namespace rivulet
