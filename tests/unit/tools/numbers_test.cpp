#include "common/numbers.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace rivulet::tools {
namespace {

TEST(Numbers, EveryFloatReadsBackAsItself) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 200'000; ++i) {
        const auto bits64 = random();
        double wide;
        std::memcpy(&wide, &bits64, sizeof wide);
        const auto bits32 = static_cast<std::uint32_t>(random());
        float narrow;
        std::memcpy(&narrow, &bits32, sizeof narrow);
        if (std::isnan(wide) || std::isnan(narrow))
            continue;
        ASSERT_EQ(parse_number<double>(number_text(wide)), wide) << number_text(wide);
        ASSERT_EQ(parse_number<float>(number_text(narrow)), narrow) << number_text(narrow);
    }
}

TEST(Numbers, TextIsTheShortest) {
    EXPECT_EQ(number_text(0.1), "0.1");
    EXPECT_EQ(number_text(0.1f), "0.1");
    EXPECT_EQ(number_text(-0.0), "-0");
    EXPECT_EQ(number_text(std::int8_t{-128}), "-128");
    EXPECT_EQ(number_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Numbers, SpecialValuesAreRead) {
    EXPECT_TRUE(std::isnan(*parse_number<float>("nan")));
    EXPECT_EQ(parse_number<double>("-inf"), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(parse_number<double>("1e999"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(parse_number<float>("-1e60"), -std::numeric_limits<float>::infinity());
    EXPECT_EQ(parse_number<float>("1e-60"), 0.0f);
}

TEST(Numbers, SpacesAndPlusAreAllowed) {
    EXPECT_EQ(parse_number<double>("  +1.5\t"), 1.5);
    EXPECT_EQ(parse_number<int>("+7"), 7);
    EXPECT_EQ(parse_number<int>("+-7"), std::nullopt);
}

TEST(Numbers, IntegersMayBeWrittenAsWholeReals) {
    EXPECT_EQ(parse_number<std::int16_t>("5.0"), 5);
    EXPECT_EQ(parse_number<std::int32_t>("1e5"), 100000);
    EXPECT_EQ(parse_number<std::int16_t>("5.5"), std::nullopt);
}

TEST(Numbers, IntegersOutOfRangeAreRefused) {
    EXPECT_EQ(parse_number<std::int8_t>("127"), 127);
    EXPECT_EQ(parse_number<std::int8_t>("-128"), -128);
    EXPECT_EQ(parse_number<std::int8_t>("128"), std::nullopt);
    EXPECT_EQ(parse_number<std::int8_t>("128.0"), std::nullopt);
    EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
    EXPECT_EQ(parse_number<std::int64_t>("9.3e18"), std::nullopt);
    EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
    EXPECT_EQ(parse_number<std::uint64_t>("-1.0"), std::nullopt);
}

TEST(Numbers, WhatIsNoNumberIsRefused) {
    for (const char* text : {"", " ", "abc", "1,5", "1.5x", "0x10", "--1", "1 2"})
        EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

} // namespace
} // namespace rivulet::tools
