// Our frames are read by an implementation that is not ours: Debian's python3-zmq and python3-msgpack.
#include "child_process.hpp"
#include "links.hpp"

#include <rivulet/rivulet.hpp>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace rivulet {
namespace {

using support::child_process;
using waiting::patience;

class PlainSub : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, PlainSub, ::testing::ValuesIn(links::zmq), links::name_of);

std::string hex(std::string_view bytes) {
    std::string digits;
    char pair[3];
    for (const char byte : bytes) {
        std::snprintf(pair, sizeof(pair), "%02x", static_cast<unsigned char>(byte));
        digits += pair;
    }
    return digits;
}
std::string bits(double value) {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016" PRIx64, std::bit_cast<std::uint64_t>(value));
    return digits;
}
std::string bits(float value) {
    char digits[9];
    std::snprintf(digits, sizeof(digits), "%08" PRIx32, std::bit_cast<std::uint32_t>(value));
    return digits;
}
std::string shown(const std::string& value) { return hex(value); }
template<class T>
std::string shown(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return bits(value);
    else
        return std::to_string(value);
}

/// What the script prints, and what it should have: written down while pushing.
class conversation {
public:
    conversation(const std::string& endpoint, stream_info info, const std::string& prefix, outlet_options options = {})
        : out(std::move(info), at(endpoint, std::move(options))),
          reader_({PYTHON, PLAIN_SUB, out.endpoints().front(), prefix}) {
        EXPECT_TRUE(reader_.says("ready"));
    }

    template<class T>
    void push(const std::vector<T>& chunk, double last) {
        const std::size_t samples = chunk.size() / out.info().channel_count;
        std::vector<double> stamps;
        const double rate = out.info().nominal_rate_hz;
        for (std::size_t i = 0; i < samples; ++i)
            stamps.push_back(rate > 0 ? last - static_cast<double>(samples - 1 - i) / rate : last);
        expect(chunk, stamps);
        out.push_chunk(chunk, last);
    }
    template<class T>
    void push(const std::vector<T>& chunk, const std::vector<double>& stamps) {
        expect(chunk, stamps);
        out.push_chunk(chunk, stamps);
    }
    template<class T>
    void expect(const std::vector<T>& chunk, const std::vector<double>& stamps) {
        const std::size_t channels = out.info().channel_count;
        for (std::size_t i = 0; i < stamps.size(); ++i) {
            std::string line = std::to_string(expected_.size()) + " " + bits(stamps[i]);
            for (std::size_t c = 0; c < channels; ++c)
                line += " " + shown(chunk[i * channels + c]);
            expected_.push_back(line);
        }
    }
    /// Closes the outlet and compares all that the script printed.
    void finish() {
        out.stop();
        for (const std::string& line : expected_)
            ASSERT_EQ(reader_.line(), line);
        EXPECT_EQ(reader_.line(), "end " + std::to_string(expected_.size()));
        EXPECT_EQ(reader_.exit_code(), 0);
    }

    outlet out;

private:
    static outlet_options at(const std::string& endpoint, outlet_options options) {
        options.endpoints = {endpoint};
        options.buffer = std::size_t{16} << 20; // pushed far faster than the nominal rate
        return options;
    }
    child_process reader_;
    std::vector<std::string> expected_;
};

template<class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& value : values)
        value = static_cast<T>(static_cast<std::int64_t>(random()) >> 20);
    return values;
}

template<class T>
void print_the_same(const std::string& endpoint, delivery mode, const std::string& prefix) {
    conversation talk(endpoint,
                      {.name = "plain", .channel_count = 3, .nominal_rate_hz = 250.0, .format = format_of<T>()}, prefix,
                      {.mode = mode});
    for (unsigned i = 0; i < 20; ++i)
        talk.push(random_values<T>(3 * (1 + 17 * i), i), 10.0 + i);
    talk.push(random_values<T>(3 * 4, 99), {1.5, 0.25, -7.0, 1e9});
    for (unsigned i = 0; i < 200; ++i)
        talk.push(random_values<T>(3, i), 100.0 + 0.1 * i);
    talk.push(random_values<T>(3 * 4000, 100), 500.0);
    talk.finish();
}

TEST_P(PlainSub, PrintsTheSameSamplesOfEveryNumericFormat) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        print_the_same<float>(GetParam().any(), mode, "");
        print_the_same<double>(GetParam().any(), mode, "95");
        print_the_same<std::int8_t>(GetParam().any(), mode, "");
        print_the_same<std::int16_t>(GetParam().any(), mode, "95");
        print_the_same<std::int32_t>(GetParam().any(), mode, "");
        print_the_same<std::int64_t>(GetParam().any(), mode, "95");
    }
}

TEST_P(PlainSub, PrintsTheSameStrings) {
    conversation talk(GetParam().any(), {.name = "plain", .channel_count = 2, .format = channel_format::string}, "");
    const std::vector<std::string> strings{
        "left-button", "", std::string("a\0b", 3), "\xC2\xB5V", std::string(70'000, 'l'), "\r\n", "1", "2"};
    talk.push(strings, 4.5);
    talk.push(strings, {1.0, 3.0, 2.0, 0.0});
    for (int i = 0; i < 50; ++i)
        talk.push(std::vector<std::string>{std::to_string(i), "x"}, 10.0 + i);
    talk.finish();
}

TEST_P(PlainSub, SharesTheOutletWithAnInletUndisturbed) {
    conversation talk(GetParam().any(), {.name = "plain", .format = channel_format::int64}, "");
    EXPECT_EQ(talk.out.consumer_count(), 0u) << "it gets data, but is not counted";
    inlet in(talk.out.endpoints().front());
    EXPECT_EQ(talk.out.consumer_count(), 1u);
    const auto values = random_values<std::int64_t>(5000, 1);
    talk.push(values, 1.0);
    std::vector<std::int64_t> all, some;
    std::vector<double> stamps;
    while (all.size() < values.size() && in.pull_chunk(some, stamps, patience))
        all.insert(all.end(), some.begin(), some.end());
    EXPECT_EQ(all, values);
    talk.finish();
}

} // namespace
} // namespace rivulet
