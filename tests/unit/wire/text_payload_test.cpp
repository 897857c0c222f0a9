#include "wire_test_support.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace rivulet::wire {
namespace {

using namespace std::string_view_literals;

byte_string offsets(std::initializer_list<std::uint32_t> values, std::endian order) {
    byte_string bytes;
    for (const std::uint32_t v : values)
        bytes.value(v, order);
    return bytes;
}

TEST(TextPayload, StringsOfEitherOrderAreFoundWhereTheyLie) {
    for (const std::endian order : {std::endian::little, std::endian::big})
        for (const std::uint32_t base : {0u, 1'000'000u}) {
            byte_string payload =
                offsets({base, base + 3, base + 3, base + 10}, order).add("a\0b"sv).add("z\xc3\xbcrich"sv);
            text_payload text;
            ASSERT_EQ(text_payload::parse(exact_copy(payload), 3, order, text), frame_error::none);
            const exact_copy kept(payload);
            ASSERT_EQ(text_payload::parse(kept, 3, order, text), frame_error::none);
            EXPECT_EQ(text.size(), 3u);
            EXPECT_EQ(as_text(text[0]), "a\0b"sv) << "an embedded NUL was lost";
            EXPECT_EQ(as_text(text[1]), "");
            EXPECT_EQ(as_text(text[2]), "z\xc3\xbcrich"sv);
        }
}

TEST(TextPayload, OddAlignmentIsFine) {
    const byte_string payload = byte_string{0}.add(offsets({5, 7}, std::endian::native)).add("xy"sv);
    text_payload text;
    ASSERT_EQ(text_payload::parse(bytes_view(payload).subspan(1), 1, std::endian::native, text), frame_error::none);
    EXPECT_EQ(as_text(text[0]), "xy");
}

TEST(TextPayload, RefusesOffsetsThatLie) {
    const auto parse = [](const byte_string& payload, std::uint64_t values) {
        text_payload text;
        return text_payload::parse(exact_copy(payload), values, std::endian::native, text);
    };
    const auto native = [](std::initializer_list<std::uint32_t> values) {
        return offsets(values, std::endian::native);
    };
    EXPECT_EQ(parse(native({0, 2, 1}).add("x"sv), 2), frame_error::bad_field) << "falls";
    EXPECT_EQ(parse(native({5, 2}).add("x"sv), 1), frame_error::bad_field) << "falls below the base";
    EXPECT_EQ(parse(native({0, 2}).add("x"sv), 1), frame_error::truncated);
    EXPECT_EQ(parse(native({0, 0xffff'ffff}).add("x"sv), 1), frame_error::truncated);
    EXPECT_EQ(parse(native({0, 1}).add("xy"sv), 1), frame_error::trailing);
    EXPECT_EQ(parse(native({0, 1}).add("xy"sv), 2), frame_error::truncated);
    EXPECT_EQ(parse({}, 0), frame_error::truncated) << "without a base";
    EXPECT_EQ(parse(native({7}), 0), frame_error::none);
    for (const std::uint64_t values : {std::uint64_t{1} << 62, (std::uint64_t{1} << 62) - 1,
                                       std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 32})
        EXPECT_EQ(parse(native({0, 0}), values), frame_error::truncated) << values;
}

TEST(TextPayload, EveryTruncationIsRefused) {
    const byte_string payload = offsets({9, 10, 13}, std::endian::native).add("abcd"sv);
    text_payload text;
    for (std::size_t size = 0; size < payload.size(); ++size)
        EXPECT_EQ(text_payload::parse(exact_copy(bytes_view(payload).first(size)), 2, std::endian::native, text),
                  frame_error::truncated)
            << size;
}

} // namespace
} // namespace rivulet::wire
