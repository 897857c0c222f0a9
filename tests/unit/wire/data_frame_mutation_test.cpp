#include "wire_test_support.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <msgpack.hpp>
#include <optional>
#include <random>

namespace rivulet::wire {
namespace {

// The hand-written parser against msgpack-c's own unpacking of the same bytes, and the rules of FORMAT.md written a
// second time on top of that: they must agree about every frame, valid or not.

struct expected_frame {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::vector<std::byte> column;
    std::vector<stamp_run> runs;
    std::vector<std::byte> payload;
};

std::vector<std::byte> bytes_of(const msgpack::object& bin) {
    const auto* const begin = reinterpret_cast<const std::byte*>(bin.via.bin.ptr);
    return {begin, begin + bin.via.bin.size};
}

bool is_uint(const msgpack::object& o, std::uint64_t limit) {
    return o.type == msgpack::type::POSITIVE_INTEGER && o.via.u64 <= limit;
}

bool read_stamps(const msgpack::object& stamps, expected_frame& out) {
    constexpr std::uint64_t u32 = std::numeric_limits<std::uint32_t>::max();
    if (stamps.type == msgpack::type::FLOAT64) {
        out.runs = {{out.count, out.count - 1, stamps.via.f64}};
        return true;
    }
    if (stamps.type == msgpack::type::BIN) {
        out.column = bytes_of(stamps);
        return out.column.size() == std::size_t{8} * out.count;
    }
    if (stamps.type != msgpack::type::ARRAY || stamps.via.array.size % 3 != 0 ||
        stamps.via.array.size > 3 * max_stamp_runs)
        return false;
    std::uint64_t covered = 0;
    for (std::uint32_t i = 0; i < stamps.via.array.size; i += 3) {
        const msgpack::object* const part = stamps.via.array.ptr + i;
        if (!is_uint(part[0], u32) || !is_uint(part[1], u32) || part[2].type != msgpack::type::FLOAT64)
            return false;
        if (part[0].via.u64 == 0 || part[1].via.u64 + 1 < part[0].via.u64)
            return false;
        covered += part[0].via.u64;
        out.runs.push_back({static_cast<std::uint32_t>(part[0].via.u64), static_cast<std::uint32_t>(part[1].via.u64),
                            part[2].via.f64});
    }
    return covered == out.count;
}

std::optional<expected_frame> reference(bytes_view frame) try {
    if (frame.size() < 2 || frame[0] != std::byte{0x95} || frame[1] != std::byte{1})
        return std::nullopt;
    std::size_t used = 0;
    const auto unpacked = msgpack::unpack(reinterpret_cast<const char*>(frame.data()), frame.size(), used, nullptr,
                                          nullptr, msgpack::unpack_limit(1000, 1000, 100'000, 100'000, 100'000, 16));
    if (used != frame.size())
        return std::nullopt;
    const msgpack::object* const part = unpacked->via.array.ptr;
    if (!is_uint(part[1], std::numeric_limits<std::uint64_t>::max()) ||
        !is_uint(part[2], std::numeric_limits<std::uint32_t>::max()) || part[4].type != msgpack::type::BIN)
        return std::nullopt;
    expected_frame out;
    out.first_sequence = part[1].via.u64;
    out.count = static_cast<std::uint32_t>(part[2].via.u64);
    if (out.count == 0 || out.first_sequence > std::numeric_limits<std::uint64_t>::max() - out.count ||
        !read_stamps(part[3], out))
        return std::nullopt;
    out.payload = bytes_of(part[4]);
    return out;
} catch (const msgpack::unpack_error&) {
    return std::nullopt;
}

std::vector<std::vector<std::byte>> valid_frames() {
    const std::vector<std::byte> payload(24, std::byte{0x42});
    const std::vector<double> column{1.0, 2.0, 3.0};
    const std::vector<std::vector<stamp_run>> runs{{{3, 2, 9.5}}, {{3, 70'000, 9.5}}, {{1, 0, 1.0}, {2, 300, 2.0}}};
    std::vector<std::vector<std::byte>> frames;
    std::vector<std::byte> buffer(data_head_capacity(3));
    for (const std::uint64_t first : {std::uint64_t{5}, std::uint64_t{200}, std::uint64_t{1} << 40}) {
        for (const auto& r : runs) {
            const auto parts =
                encode_data_head({.first_sequence = first, .count = 3, .runs = r, .payload_bytes = 24}, buffer);
            frames.push_back(join({parts.head, payload}));
        }
        const auto parts =
            encode_data_head({.first_sequence = first, .count = 3, .column = column, .payload_bytes = 24}, buffer);
        frames.push_back(join({parts.head, parts.column, parts.tail, payload}));
    }
    return frames;
}

/// Bytes that mean something to msgpack, for mutations that get past the first check.
constexpr std::array<std::uint8_t, 24> telling{0x00, 0x01, 0x03, 0x7f, 0x80, 0x90, 0x93, 0x96, 0xc0, 0xc1, 0xc4, 0xc5,
                                               0xc6, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3, 0xdc, 0xdd, 0xff};

void mutate(std::vector<std::byte>& frame, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t times = 1 + below(3); times > 0 && !frame.empty(); --times) {
        const std::size_t head = std::min<std::size_t>(frame.size(), 40);
        const std::size_t at = below(head);
        const auto byte = static_cast<std::byte>(below(2) ? telling[below(telling.size())] : random() & 0xff);
        switch (below(6)) {
        case 0: frame[at] ^= static_cast<std::byte>(1u << below(8)); break;
        case 1: frame.erase(frame.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 2: frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(at), byte); break;
        case 3: frame.resize(below(frame.size() + 1)); break;
        default: frame[at] = byte;
        }
    }
}

bool same(const data_view& view, const expected_frame& expected) {
    const auto same_run = [](const stamp_run& a, const stamp_run& b) {
        return a.count == b.count && a.ahead == b.ahead &&
               std::bit_cast<std::uint64_t>(a.base) == std::bit_cast<std::uint64_t>(b.base);
    };
    return view.first_sequence == expected.first_sequence && view.count == expected.count &&
           std::ranges::equal(view.column, expected.column) && std::ranges::equal(view.runs, expected.runs, same_run) &&
           std::ranges::equal(view.payload, expected.payload);
}

TEST(DataFrameMutations, HandParserAndMsgpackAgree) {
    std::mt19937_64 random(20240607);
    const auto seeds = valid_frames();
    data_parser parser;
    std::size_t accepted = 0;
    constexpr std::size_t rounds = 1u << 19;
    for (std::size_t round = 0; round < rounds; ++round) {
        auto frame = seeds[round % seeds.size()];
        mutate(frame, random);
        const auto expected = reference(frame);
        data_view view;
        const frame_error error = parser.parse(frame, {}, view);
        ASSERT_EQ(error == frame_error::none, expected.has_value())
            << "round " << round << ": hand parser says the frame " << to_string(error);
        if (!expected)
            continue;
        ++accepted;
        ASSERT_TRUE(same(view, *expected)) << "round " << round;

        const bytes_view head = bytes_view(frame).first(frame.size() - expected->payload.size());
        ASSERT_EQ(parser.parse(head, expected->payload, view), frame_error::none) << "round " << round;
        ASSERT_TRUE(same(view, *expected)) << "round " << round << ", in two parts";
    }
    EXPECT_GT(accepted, rounds / 50) << "the mutations are too wild to test anything";
    EXPECT_LT(accepted, rounds - rounds / 50) << "the mutations are too tame to test anything";
}

TEST(DataFrameMutations, TwoPartsAreAcceptedOnlyWhereOneIs) {
    std::mt19937_64 random(42);
    const auto seeds = valid_frames();
    data_parser parser;
    std::size_t accepted = 0;
    for (std::size_t round = 0; round < (1u << 18); ++round) {
        auto frame = seeds[round % seeds.size()];
        if (round % 3 != 0)
            mutate(frame, random);
        const std::size_t cut = round % 2 && frame.size() > 24 ? frame.size() - 24 : random() % (frame.size() + 1);
        data_view split;
        if (parser.parse(bytes_view(frame).first(cut), bytes_view(frame).subspan(cut), split) != frame_error::none)
            continue;
        ++accepted;
        const auto expected = reference(frame);
        ASSERT_TRUE(expected && same(split, *expected)) << "round " << round;
    }
    EXPECT_GT(accepted, 1000u);
}

} // namespace
} // namespace rivulet::wire
