// Every channel format, every conversion, every shape: the value that comes out is the one that went in, or the
// documented conversion of it.
#include "contract.hpp"

#include <cmath>

namespace rivulet::contract {
namespace {

class Formats : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Formats, ::testing::ValuesIn(links::all), links::name_of);

template<class Action>
void for_each_numeric_type(Action action) {
    action(float{});
    action(double{});
    action(std::int8_t{});
    action(std::int16_t{});
    action(std::int32_t{});
    action(std::int64_t{});
}

/// Values of T around every limit of every other type, and ties.
template<class T>
std::vector<T> awkward_values() {
    using limits = std::numeric_limits<T>;
    std::vector<T> values{0, 1, -1, 7, -7, 100, -100, limits::min(), limits::max(), limits::lowest()};
    if constexpr (std::is_floating_point_v<T>) {
        for (const double value :
             {0.5,          1.5,          2.5,           126.5,         127.5,  128.5,   32766.5, 32767.5,
              2147483646.5, 2147483647.5, 1.0 + 0x1p-24, 1.0 + 0x3p-24, 0.4,    0.6,     1.3,     126.6,
              127.4,        127.6,        128.4,         128.6,         200.0,  32767.4, 32767.6, 32768.6,
              40000.0,      2147483648.0, 3e9,           9.2e18,        9.3e18, 1e19,    1e30,    1e-40,
              0.1})
            for (const double sign : {1.0, -1.0})
                values.push_back(static_cast<T>(sign * value));
        for (const T value : {T(-0.0), limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::epsilon()})
            values.push_back(value);
    } else {
        for (const std::int64_t value : {127ll, 128ll, -128ll, -129ll, 32767ll, 32768ll, -32768ll, -32769ll, 16777217ll,
                                         2147483647ll, 2147483648ll, -2147483648ll, -2147483649ll, (1ll << 53) + 1})
            if (value >= limits::min() && value <= limits::max())
                values.push_back(static_cast<T>(value));
    }
    std::mt19937_64 random(11);
    while (values.size() < 1003) // no multiple of any vector width
        values.push_back(static_cast<T>(std::int64_t(random()) >> (random() % 64)));
    return values;
}

/// The documented conversion: rounded to nearest, ties to even, saturated, NaN to 0 for integers.
template<class To, class From>
To converted(From value) {
    if constexpr (std::is_floating_point_v<To>) {
        return static_cast<To>(value);
    } else {
        if constexpr (std::is_floating_point_v<From>) {
            if (std::isnan(value))
                return 0;
            value = std::nearbyint(value);
        }
        const auto exact = static_cast<long double>(value);
        if (exact <= static_cast<long double>(std::numeric_limits<To>::min()))
            return std::numeric_limits<To>::min();
        if (exact >= static_cast<long double>(std::numeric_limits<To>::max()))
            return std::numeric_limits<To>::max();
        return static_cast<To>(value);
    }
}

template<class To, class From>
::testing::AssertionResult are_converted(const std::vector<To>& actual, const std::vector<From>& from) {
    if (actual.size() != from.size())
        return ::testing::AssertionFailure() << actual.size() << " values instead of " << from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
        if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
            if (std::isfinite(from[i]) && std::abs(from[i]) > static_cast<double>(std::numeric_limits<float>::max())) {
                if (std::abs(actual[i]) < std::numeric_limits<float>::max())
                    return ::testing::AssertionFailure() << from[i] << " became the small value " << actual[i];
                continue; // the largest float or infinity, as the sign says
            }
        }
        const To expected = converted<To>(from[i]);
        if (actual[i] != expected && !(std::is_floating_point_v<To> && expected != expected && actual[i] != actual[i]))
            return ::testing::AssertionFailure()
                   << "value " << i << ": " << +from[i] << " became " << +actual[i] << " instead of " << +expected;
    }
    return ::testing::AssertionSuccess();
}

template<class T>
std::string format_name() {
    return std::string(to_string(format_of<T>()));
}

/// Pulls `samples` samples as T.
template<class T>
std::vector<T> pulled(inlet& in, std::size_t samples) {
    return pull<T>(in, samples).values;
}

template<class Stored>
void check_push_conversions(const std::string& endpoint) {
    outlet out = serve_at(endpoint, numbers(format_of<Stored>()));
    inlet in = connect(out);
    for_each_numeric_type([&]<class Pushed>(Pushed) {
        SCOPED_TRACE(format_name<Pushed>() + " pushed into " + format_name<Stored>());
        const auto values = awkward_values<Pushed>();
        out.push_chunk(values);
        EXPECT_TRUE(are_converted(pulled<Stored>(in, values.size()), values));
        out.push_chunk(values, std::vector<double>(values.size(), 1.0));
        EXPECT_TRUE(are_converted(pulled<Stored>(in, values.size()), values));
        for (const Pushed value : values)
            out.push_sample(value);
        EXPECT_TRUE(are_converted(pulled<Stored>(in, values.size()), values));
    });
}

template<class Stored>
void check_pull_conversions(const std::string& endpoint) {
    outlet out = serve_at(endpoint, numbers(format_of<Stored>()));
    inlet in = connect(out);
    const auto values = awkward_values<Stored>();
    for_each_numeric_type([&]<class Pulled>(Pulled) {
        SCOPED_TRACE(format_name<Stored>() + " pulled as " + format_name<Pulled>());
        out.push_chunk(values);
        EXPECT_TRUE(are_converted(pulled<Pulled>(in, values.size()), values));

        out.push_chunk(values);
        std::vector<Pulled> one_by_one;
        for (std::size_t i = 0; i < values.size(); ++i) {
            double stamp = 0;
            Pulled value{};
            ASSERT_TRUE(in.pull_sample(value, stamp, patience));
            one_by_one.push_back(value);
        }
        EXPECT_TRUE(are_converted(one_by_one, values));
    });
}

TEST_P(Formats, EveryNumericTypeConvertsOnPush) {
    for_each_numeric_type([]<class Stored>(Stored) { check_push_conversions<Stored>(GetParam().any()); });
}

TEST_P(Formats, EveryNumericTypeConvertsOnPull) {
    for_each_numeric_type([]<class Stored>(Stored) { check_pull_conversions<Stored>(GetParam().any()); });
}

/// Random bit patterns, among them denormals, infinities and NaNs of every kind.
template<class T>
std::vector<T> random_bits(std::size_t count) {
    std::mt19937_64 random(5);
    std::vector<T> values(count);
    for (T& value : values) {
        const std::uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof(value));
    }
    return values;
}

TEST_P(Formats, ValuesOfTheStreamsOwnTypeKeepEveryBit) {
    for_each_numeric_type([]<class T>(T) {
        SCOPED_TRACE(format_name<T>());
        outlet out = serve(numbers(format_of<T>(), 5));
        inlet in = connect(out);
        const auto values = random_bits<T>(5 * 20'001);
        out.push_chunk(values);
        out.stop();
        EXPECT_TRUE(same(pull<T>(in).values, values));
    });
}

TEST_P(Formats, OneChannelAndThousandsOfChannels) {
    for (const std::uint64_t channels : {1u, 2u, 3u, 1000u, 1024u, 4097u}) {
        SCOPED_TRACE(channels);
        outlet out = serve(numbers(channel_format::int16, channels));
        inlet in = connect(out);
        const auto values = random_bits<std::int16_t>(channels * 50);
        out.push_chunk(std::span(values).first(channels * 49));
        out.push_sample(std::span(values).last(channels));
        out.stop();
        EXPECT_EQ(in.channel_count(), channels);
        EXPECT_TRUE(same(pull<std::int16_t>(in).values, values));
    }
}

TEST_P(Formats, AllWaysToPullGetTheSame) {
    outlet out = serve(numbers(channel_format::float32, 2));
    inlet in = connect(out);
    const std::vector<float> one{1.5f, 2.5f};
    for (int i = 0; i < 5; ++i)
        out.push_sample(one, 3.0);

    std::array<float, 2> array{};
    std::vector<float> values;
    std::vector<double> stamps(1);
    double stamp = 0;
    EXPECT_TRUE(in.pull_chunk(std::span<float>(array), stamps, patience));
    EXPECT_TRUE(same(array, one));
    EXPECT_EQ(stamps[0], 3.0);
    EXPECT_TRUE(in.pull_chunk(values, stamps, patience, 1));
    EXPECT_TRUE(same(values, one));
    EXPECT_TRUE(in.pull_sample(std::span<float>(array), stamp, patience));
    EXPECT_TRUE(same(array, one));
    EXPECT_EQ(stamp, 3.0);
    EXPECT_TRUE(in.pull_sample(values, stamp, patience));
    EXPECT_TRUE(same(values, one));
    const chunk_view view = in.pull_view(patience);
    EXPECT_TRUE(same(view.values<float>(), one));
}

TEST_P(Formats, StampsNeedNotBeTaken) {
    outlet out = serve(counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 3));
    std::array<std::int64_t, 3> values{};
    EXPECT_EQ(in.pull_chunk(std::span<std::int64_t>(values), {}, patience).samples, 3u);
    EXPECT_TRUE(same(values, counting(0, 3)));
}

// ---- strings and blobs

/// Deterministic text of any length; every second one has an embedded NUL.
std::string text_of(std::size_t length, unsigned seed) {
    std::string text(length, ' ');
    for (std::size_t i = 0; i < length; ++i)
        text[i] = static_cast<char>('a' + (i * 7 + seed) % 26);
    if (seed % 2 == 0 && length > 2)
        text[length / 2] = '\0';
    return text;
}

std::vector<std::string> awkward_strings() {
    return {"",
            "left-button",
            std::string(1, '\0'),
            std::string("a\0b", 3),
            std::string("\0\0\0", 3),
            std::string("ends in NUL\0", 12),
            "\xC2\xB5V \xE2\x9C\x93 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x90\x99",
            "\xFF\xFE not UTF-8",
            "\xC3",
            "\xC0\xAF",
            "\xED\xA0\x80",
            "\xF4\x90\x80\x80\x00",
            "line\r\nbreak\ttab \"quotes\" 'apostrophes', commas;",
            "",
            text_of(255, 1),
            text_of(256, 2),
            text_of(65'536, 3),
            "after"};
}

TEST_P(Formats, AwkwardStringsSurvive) {
    outlet out = serve(numbers(channel_format::string));
    inlet in = connect(out);
    const auto strings = awkward_strings();
    for (const std::string& text : strings)
        out.push_sample(text);
    out.push_chunk(strings);
    out.push_chunk(std::vector<std::string_view>(strings.begin(), strings.end()));
    out.push_sample("a literal");
    out.stop();

    std::vector<std::string> expected;
    for (int i = 0; i < 3; ++i)
        expected.insert(expected.end(), strings.begin(), strings.end());
    expected.push_back("a literal");
    const auto all = pull<std::string>(in);
    EXPECT_TRUE(same(all.values, expected));
    EXPECT_TRUE(all.ended);
}

TEST_P(Formats, StringsComeOutOneByOneToo) {
    outlet out = serve(numbers(channel_format::string));
    inlet in = connect(out);
    const auto strings = awkward_strings();
    out.push_chunk(strings, 4.5);
    for (const std::string& expected : strings) {
        std::string text = "what was there before, longer than what comes";
        double stamp = 0;
        ASSERT_TRUE(in.pull_sample(text, stamp, patience));
        EXPECT_EQ(text, expected);
        EXPECT_EQ(stamp, 4.5);
    }
}

TEST_P(Formats, StringsOfSeveralChannelsStayInTheirChannels) {
    outlet out = serve(numbers(channel_format::string, 3));
    inlet in = connect(out);
    const std::vector<std::string> first{"a", "", std::string("c\0d", 3)};
    const std::vector<std::string_view> second{"", "\xC3\xA4", "z"};
    const std::vector<std::string> chunk{"1", "2", "3", "", "", "", "7", "8", text_of(5000, 4)};
    out.push_sample(first, 1.0);
    out.push_sample(second, 2.0);
    out.push_chunk(chunk, std::array{3.0, 4.0, 5.0});

    std::vector<std::string> sample;
    double stamp = 0;
    ASSERT_TRUE(in.pull_sample(sample, stamp, patience));
    EXPECT_TRUE(same(sample, first));
    EXPECT_EQ(stamp, 1.0);
    const auto rest = pull<std::string>(in, 4);
    EXPECT_TRUE(same(rest.stamps, std::array{2.0, 3.0, 4.0, 5.0}));
    std::vector<std::string> expected(second.begin(), second.end());
    expected.insert(expected.end(), chunk.begin(), chunk.end());
    EXPECT_TRUE(same(rest.values, expected));
}

TEST_P(Formats, StringsOfAMegabyteAndMore) {
    outlet out = serve(numbers(channel_format::string));
    inlet in = connect(out);
    std::vector<std::string> strings;
    for (const std::size_t length : {MiB, MiB + 1, std::size_t{1}, 5 * MiB, std::size_t{0}, 2 * MiB})
        strings.push_back(text_of(length, 9));
    for (const std::string& text : strings)
        out.push_sample(text);
    out.push_chunk(strings);
    out.stop();
    auto expected = strings;
    expected.insert(expected.end(), strings.begin(), strings.end());
    EXPECT_TRUE(same(pull<std::string>(in).values, expected));
}

TEST_P(Formats, ManyStringsOfAllLengthsThroughManyCuts) {
    outlet out = serve(numbers(channel_format::string, 2));
    inlet in = connect(out);
    std::mt19937 random(3);
    std::vector<std::string> strings;
    for (unsigned i = 0; i < 2 * 10'000; ++i)
        strings.push_back(text_of(random() % 300, i));
    for (std::size_t at = 0; at < strings.size();) {
        const std::size_t count = std::min<std::size_t>(2 * (1 + random() % 100), strings.size() - at);
        out.push_chunk(std::span<const std::string>(strings).subspan(at, count));
        at += count;
    }
    out.stop();
    const auto all = pull<std::string>(in, everything, 7);
    EXPECT_TRUE(same(all.values, strings));
    EXPECT_EQ(all.lost, 0u);
}

TEST_P(Formats, BlobsOfAnyLengthSurvive) {
    outlet out = serve(numbers(channel_format::blob));
    inlet in = connect(out);
    std::vector<std::string> blobs;
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{256}, 64 * 1024 + std::size_t{1},
                                     5 * MiB + 3, std::size_t{0}, std::size_t{2}}) {
        std::string bytes(length, '\0');
        std::iota(bytes.begin(), bytes.end(), '\0');
        blobs.push_back(bytes);
    }
    for (const std::string& blob : blobs)
        out.push_sample(std::as_bytes(std::span(blob)));
    out.stop();
    EXPECT_TRUE(same(pull<std::string>(in).values, blobs));
}

TEST_P(Formats, ValueBeyondMaxFrameIsRefusedAndHarmsNothing) {
    outlet out = serve(numbers(channel_format::string), {.max_frame = MiB});
    inlet in = connect(out);
    out.push_sample("before");
    const std::string message = refusal(errc::limit_exceeded, [&] { out.push_sample(text_of(2 * MiB, 1)); });
    EXPECT_TRUE(mentions(message, "max_frame")) << message;
    const std::string large = text_of(MiB / 2, 1);
    out.push_sample(large);
    out.push_sample("after");
    out.stop();
    EXPECT_TRUE(same(pull<std::string>(in).values, std::vector<std::string>{"before", large, "after"}));
}

// ---- what does not fit is refused, and nothing of it is delivered

TEST_P(Formats, WrongNumberOfValuesIsAShapeMismatchOnPush) {
    outlet out = serve(counter(3));
    inlet in = connect(out);
    const std::string message = refusal(errc::shape_mismatch, [&] { out.push_sample(counting(0, 1, 2)); });
    EXPECT_TRUE(mentions(message, "2") && mentions(message, "3")) << message;
    refusal(errc::shape_mismatch, [&] { out.push_sample(counting(0, 1, 4)); });
    refusal(errc::shape_mismatch, [&] { out.push_sample(std::vector<std::int64_t>{}); });
    refusal(errc::shape_mismatch, [&] { out.push_sample(std::int64_t{1}); });
    refusal(errc::shape_mismatch, [&] { out.push_chunk(counting(0, 1, 7)); });
    refusal(errc::shape_mismatch, [&] { out.push_chunk(counting(0, 2, 3), std::array{1.0}); });
    refusal(errc::shape_mismatch, [&] { out.push_chunk(counting(0, 2, 3), std::array{1.0, 2.0, 3.0}); });
    out.push_chunk(counting(0, 4, 3));
    out.stop();
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in), 0, 4, 3));
}

TEST_P(Formats, WrongNumberOfStringsIsAShapeMismatchOnPush) {
    outlet out = serve(numbers(channel_format::string, 2));
    inlet in = connect(out);
    const std::vector<std::string> three{"a", "b", "c"};
    refusal(errc::shape_mismatch, [&] { out.push_sample("one"); });
    refusal(errc::shape_mismatch, [&] { out.push_sample(three); });
    refusal(errc::shape_mismatch, [&] { out.push_chunk(three); });
    refusal(errc::shape_mismatch, [&] { out.push_chunk(std::vector<std::string>{"a", "b"}, std::array{1.0, 2.0}); });
    out.push_sample(std::vector<std::string>{"x", "y"});
    out.stop();
    EXPECT_TRUE(same(pull<std::string>(in).values, std::vector<std::string>{"x", "y"}));
}

TEST_P(Formats, WrongNumberOfValuesIsAShapeMismatchOnPull) {
    outlet out = serve(counter(3));
    inlet in = connect(out);
    out.push_chunk(counting(0, 4, 3));
    std::vector<std::int64_t> values(7);
    std::vector<double> stamps(2);
    double stamp = 0;
    refusal(errc::shape_mismatch, [&] { in.pull_chunk(std::span(values), stamps, patience); });
    values.resize(12);
    refusal(errc::shape_mismatch, [&] { in.pull_chunk(std::span(values), stamps, patience); });
    refusal(errc::shape_mismatch, [&] { in.pull_sample(std::span(values), stamp, patience); });
    refusal(errc::shape_mismatch, [&] { in.pull_sample(values[0], stamp, patience); });
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 4), 0, 4, 3));
}

TEST_P(Formats, TextAndNumbersDoNotMix) {
    outlet numeric = serve(counter());
    outlet text = serve(numbers(channel_format::string));
    outlet blob = serve(numbers(channel_format::blob));
    const std::array bytes{std::byte{1}};
    const std::string message = refusal(errc::format_mismatch, [&] { numeric.push_sample("text"); });
    EXPECT_TRUE(mentions(message, "int64")) << message;
    refusal(errc::format_mismatch, [&] { numeric.push_chunk(std::vector<std::string>{"text"}); });
    refusal(errc::format_mismatch, [&] { numeric.push_sample(std::span<const std::byte>(bytes)); });
    refusal(errc::format_mismatch, [&] { text.push_sample(1.0f); });
    refusal(errc::format_mismatch, [&] { text.push_chunk(std::vector<double>{1.0}); });
    refusal(errc::format_mismatch, [&] { blob.push_sample(std::int8_t{1}); });

    inlet from_numeric = connect(numeric);
    inlet from_text = connect(text);
    numeric.push_sample(std::int64_t{0});
    text.push_sample("text");
    std::vector<std::string> strings;
    std::vector<double> stamps;
    std::string one;
    std::vector<float> values;
    double stamp = 0;
    float value = 0;
    refusal(errc::format_mismatch, [&] { from_numeric.pull_chunk(strings, stamps, patience); });
    refusal(errc::format_mismatch, [&] { from_numeric.pull_sample(one, stamp, patience); });
    refusal(errc::format_mismatch, [&] { from_text.pull_chunk(values, stamps, patience); });
    refusal(errc::format_mismatch, [&] { from_text.pull_sample(value, stamp, patience); });
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(from_numeric, 1), 0, 1));
    EXPECT_TRUE(same(pull<std::string>(from_text, 1).values, std::vector<std::string>{"text"}));
}

// ---- the description of the stream

TEST_P(Formats, TheInletKnowsTheStreamAsTheOutletDescribesIt) {
    stream_info described{.name = "O'Brien's \xC2\xB5V \"stream\"",
                          .type = "EEG",
                          .channel_count = 1000,
                          .nominal_rate_hz = 30'000.25,
                          .format = channel_format::int16,
                          .source_id = "amp-17"};
    for (std::uint64_t i = 0; i < described.channel_count; ++i)
        described.channel(i).label("ch" + std::to_string(i)).unit("microvolts");
    described.desc.at_path("amplifier.settings.note").value(std::string("a\0b", 3));
    outlet out = serve(described);
    inlet in = connect(out);
    const stream_info seen = in.info();
    EXPECT_EQ(seen.name, described.name);
    EXPECT_EQ(seen.type, described.type);
    EXPECT_EQ(seen.channel_count, described.channel_count);
    EXPECT_EQ(seen.nominal_rate_hz, described.nominal_rate_hz);
    EXPECT_EQ(seen.format, described.format);
    EXPECT_EQ(seen.source_id, described.source_id);
    EXPECT_EQ(seen.desc, described.desc);
    EXPECT_EQ(seen.uid, out.info().uid);
    EXPECT_EQ(seen.host, out.info().host);
    EXPECT_EQ(seen.session, out.info().session);
    EXPECT_EQ(seen.created_at, out.info().created_at);
    EXPECT_EQ(seen.uid.size(), 32u);
    EXPECT_LE(seen.created_at, local_clock());
    EXPECT_GT(seen.created_at, 0.0);
}

} // namespace
} // namespace rivulet::contract
