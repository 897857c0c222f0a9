#include "common/generator.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

namespace rivulet::tools {
namespace {

stream_info stream(channel_format format, std::uint64_t channels = 3, double rate = 100) {
    stream_info info;
    info.name = "test";
    info.format = format;
    info.channel_count = channels;
    info.nominal_rate_hz = rate;
    return info;
}

template<class T>
std::vector<T> values_of(const batch& samples) {
    std::vector<T> values(samples.values.size() / sizeof(T));
    std::memcpy(values.data(), samples.values.data(), samples.values.size());
    return values;
}

template<class T>
std::vector<T> generate(signal_shape shape, std::size_t samples, std::uint64_t seed = 1) {
    generator source(stream(format_of<T>()), shape, seed);
    batch out;
    EXPECT_TRUE(source.next(samples, out));
    EXPECT_EQ(out.samples, samples);
    return values_of<T>(out);
}

TEST(Generator, CounterCarriesTheSampleIndexInEveryChannel) {
    EXPECT_EQ(generate<double>(signal_shape::counter, 3), (std::vector<double>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
    EXPECT_EQ(generate<std::int32_t>(signal_shape::counter, 2), (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
    const auto wrapped = generate<std::int8_t>(signal_shape::counter, 130);
    EXPECT_EQ(wrapped[128 * 3], -128);
}

TEST(Generator, CounterOfStringsIsItsDigits) {
    generator source(stream(channel_format::string, 2), signal_shape::counter, 1);
    batch out;
    source.next(2, out);
    EXPECT_EQ(out.texts, (std::vector<std::string>{"0", "0", "1", "1"}));
    source.next(1, out);
    EXPECT_EQ(out.texts, (std::vector<std::string>{"2", "2"}));
}

TEST(Generator, ASampleDependsOnItsIndexOnly) {
    for (const auto shape : {signal_shape::sine, signal_shape::noise, signal_shape::sawtooth}) {
        const auto whole = generate<float>(shape, 100);
        generator source(stream(channel_format::float32), shape, 1);
        std::vector<float> pieces;
        batch out;
        for (const std::size_t count : {1u, 9u, 40u, 50u}) {
            source.next(count, out);
            const auto piece = values_of<float>(out);
            pieces.insert(pieces.end(), piece.begin(), piece.end());
        }
        EXPECT_EQ(pieces, whole);
    }
}

TEST(Generator, TheFirstChannelOfASineHasOnePeriodASecond) {
    const auto values = generate<double>(signal_shape::sine, 200);
    for (std::size_t i = 0; i < 200; ++i)
        ASSERT_NEAR(values[i * 3], std::sin(2 * M_PI * static_cast<double>(i) / 100), 1e-3) << i;
}

TEST(Generator, SquareAndSawtooth) {
    for (const double value : generate<double>(signal_shape::square, 200))
        ASSERT_EQ(std::abs(value), 1.0);
    const auto saw = generate<double>(signal_shape::sawtooth, 100);
    EXPECT_NEAR(saw[0], -1, 1e-3);
    EXPECT_NEAR(saw[50 * 3], 0, 1e-3);
}

TEST(Generator, IntegersHaveAnAmplitudeOfOneHundred) {
    const auto values = generate<std::int16_t>(signal_shape::sine, 200);
    EXPECT_EQ(*std::ranges::max_element(values), 100);
    EXPECT_EQ(*std::ranges::min_element(values), -100);
}

TEST(Generator, NoiseFollowsItsSeedAndFillsItsRange) {
    const auto values = generate<double>(signal_shape::noise, 10'000);
    EXPECT_EQ(values, generate<double>(signal_shape::noise, 10'000));
    EXPECT_NE(values, generate<double>(signal_shape::noise, 10'000, 2));
    double sum = 0;
    for (const double value : values) {
        ASSERT_LE(std::abs(value), 1.0);
        sum += value;
    }
    EXPECT_NEAR(sum / static_cast<double>(values.size()), 0, 0.02);
    EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), values.size() - 5);
}

TEST(Generator, OnlyCountersCanBeStrings) {
    EXPECT_THROW(generator(stream(channel_format::string), signal_shape::sine, 1), error);
}

} // namespace
} // namespace rivulet::tools
