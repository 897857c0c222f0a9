#include "wire_test_support.hpp"

#include <allocation_counter.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace rivulet::wire {
namespace {

/// Encodes and joins head, column, tail and payload.
std::vector<std::byte> encode(data_header header, bytes_view payload) {
    std::vector<std::byte> buffer(data_head_capacity(header.runs.size()));
    header.payload_bytes = payload.size();
    const data_head parts = encode_data_head(header, buffer);
    return join({parts.head, parts.column, parts.tail, payload});
}

const std::array<std::byte, 8> eight_bytes{};

std::vector<double> expand(const data_view& view, double rate) {
    std::vector<double> stamps(view.count);
    std::size_t at = 0;
    for (const stamp_run& run : view.runs) {
        expand_run(run, rate, stamps.data() + at);
        at += run.count;
    }
    return stamps;
}

TEST(DataFrame, OneRunUpToItsOwnEndIsASingleStamp) {
    const stamp_run run{.count = 3, .ahead = 2, .base = 12.5};
    const auto frame = encode({.first_sequence = 7, .count = 3, .runs = {&run, 1}}, eight_bytes);
    const byte_string expected =
        byte_string{0x95, 1, 7, 3, 0xcb}.value(12.5).add({0xc4, 8}).add(bytes_view(eight_bytes));
    EXPECT_EQ(frame, join({expected}));

    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 7u);
    EXPECT_EQ(view.count, 3u);
    ASSERT_EQ(view.runs.size(), 1u);
    EXPECT_EQ(view.runs[0], run);
    EXPECT_TRUE(view.column.empty());
    EXPECT_EQ(view.payload.data(), frame.data() + frame.size() - 8);
    EXPECT_EQ(view.payload.size(), 8u);
}

TEST(DataFrame, ARunThatWasCutKeepsItsBase) {
    const stamp_run run{.count = 3, .ahead = 9, .base = 12.5};
    const auto frame = encode({.first_sequence = 7, .count = 3, .runs = {&run, 1}}, eight_bytes);
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    ASSERT_EQ(view.runs.size(), 1u);
    EXPECT_EQ(view.runs[0], run);
}

TEST(DataFrame, ManyRunsRoundTripWithinTheStatedCapacity) {
    std::vector<stamp_run> runs;
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < max_stamp_runs; ++i) {
        runs.push_back({.count = 70'000 + i, .ahead = 4'000'000'000u + i, .base = 1e9 + i * 0.1});
        total += runs.back().count;
    }
    const auto frame = encode({.first_sequence = 1ull << 60, .count = total, .runs = runs}, eight_bytes);
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 1ull << 60);
    EXPECT_EQ(view.count, total);
    EXPECT_TRUE(std::ranges::equal(view.runs, runs));
}

TEST(DataFrame, AStampColumnTravelsInPlace) {
    const std::vector<double> column{1.5, 2.25, std::numeric_limits<double>::quiet_NaN()};
    std::vector<std::byte> buffer(data_head_capacity(0));
    const data_head parts =
        encode_data_head({.first_sequence = 300, .count = 3, .column = column, .payload_bytes = 70'000}, buffer);
    EXPECT_EQ(static_cast<const void*>(parts.column.data()), column.data()) << "the column is copied";
    EXPECT_EQ(join({parts.head}), join({byte_string{0x95, 1, 0xcd, 1, 44, 3, 0xc4, 24}}));
    EXPECT_EQ(join({parts.tail}), join({byte_string{0xc6, 0, 1, 0x11, 0x70}}));

    const std::vector<std::byte> payload(70'000, std::byte{5});
    const auto head = join({parts.head, parts.column, parts.tail});
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(head, payload, view), frame_error::none);
    EXPECT_TRUE(view.runs.empty());
    EXPECT_TRUE(std::ranges::equal(view.column, std::as_bytes(std::span(column))));
    EXPECT_EQ(view.payload.data(), payload.data());
}

TEST(DataFrame, LargestFieldsFitTheStatedCapacity) {
    const double stamp = 1;
    std::vector<std::byte> buffer(data_head_capacity(0));
    data_head parts = encode_data_head({.first_sequence = std::numeric_limits<std::uint64_t>::max() - 0xffff'ffff,
                                        .count = 0xffff'ffff,
                                        .column = {&stamp, 1},
                                        .payload_bytes = 0xffff'ffff},
                                       buffer);
    EXPECT_LE(parts.head.size() + parts.tail.size(), buffer.size());
    const std::vector<stamp_run> runs(max_stamp_runs, {0xffff'ffff, 0xffff'ffff, 1.0});
    buffer.resize(data_head_capacity(runs.size()));
    parts = encode_data_head({.first_sequence = std::numeric_limits<std::uint64_t>::max() - 0xffff'ffff,
                              .count = 0xffff'ffff,
                              .runs = runs,
                              .payload_bytes = 0xffff'ffff},
                             buffer);
    EXPECT_LE(parts.head.size(), buffer.size());
}

TEST(DataFrame, NeitherSideAllocates) {
    const std::vector<double> column(100, 1.0);
    const std::vector<stamp_run> runs{{.count = 50, .ahead = 60, .base = 1.0}, {.count = 50, .ahead = 49, .base = 2.0}};
    const std::vector<std::byte> payload(400);
    std::array<std::byte, data_head_capacity(max_stamp_runs)> buffer;
    std::array<std::byte, 2000> received;
    std::array<double, 100> stamps;
    data_parser parser;
    data_view view;
    int refused = 0;

    const test::allocation_counter counter;
    for (const data_header& header : {data_header{.count = 100, .runs = runs, .payload_bytes = 400},
                                      data_header{.count = 50, .runs = std::span(runs).last(1), .payload_bytes = 400},
                                      data_header{.count = 100, .column = column, .payload_bytes = 400}}) {
        const data_head parts = encode_data_head(header, buffer);
        auto end = received.begin();
        for (const bytes_view part : {parts.head, parts.column, parts.tail})
            end = std::ranges::copy(part, end).out;
        const bytes_view head(received.begin(), end);
        refused += parser.parse(head, payload, view) != frame_error::none;
        for (const stamp_run& run : view.runs)
            expand_run(run, 100.0, stamps.data());
        end = std::ranges::copy(payload, end).out;
        refused += parser.parse(bytes_view(received.begin(), end), {}, view) != frame_error::none;
        refused += parser.parse(bytes_view(received.begin(), end - 1), {}, view) != frame_error::none;
    }
    EXPECT_EQ(counter.count(), 0u);
    EXPECT_EQ(refused, 3) << "those cut short, and no others";
}

TEST(DataFrame, StampsKeepEveryBit) {
    for (const double base : {2.0, -0.0, 0.0, 1e300, -7.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()})
        for (const std::uint32_t ahead : {0u, 1u}) {
            const stamp_run run{.count = 1, .ahead = ahead, .base = base};
            data_parser parser;
            data_view view;
            ASSERT_EQ(parser.parse(encode({.count = 1, .runs = {&run, 1}}, eight_bytes), {}, view), frame_error::none)
                << base;
            EXPECT_EQ(std::bit_cast<std::uint64_t>(view.runs[0].base), std::bit_cast<std::uint64_t>(base));
        }
}

TEST(DataFrame, IntegersMayComeInAnyEncoding) {
    // count as a signed 16-bit integer, sequence as uint64, payload length as bin32
    const byte_string frame =
        byte_string{0x95, 1, 0xcf, 0, 0, 0, 0, 0, 0, 0, 9, 0xd1, 0, 2, 0xcb}.value(1.0).add({0xc6, 0, 0, 0, 1, 42});
    data_parser parser;
    data_view view;
    ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 9u);
    EXPECT_EQ(view.count, 2u);
    EXPECT_EQ(view.payload[0], std::byte{42});
}

TEST(DataFrame, ForeignOrderAtOddAlignmentDecodes) {
    const std::vector<double> values{1.0, -2.5, 1e300, 3.0};
    const std::vector<double> stamps{10.125, 11.25};
    byte_string frame{0x95, 1, 33, 2, 0xc4, 16};
    for (const double stamp : stamps)
        frame.value(stamp, std::endian::big);
    frame.add({0xc4, 32});
    for (const double value : values)
        frame.value(value, std::endian::big);

    for (std::size_t shift = 0; shift < 8; ++shift) {
        std::vector<std::byte> received(shift);
        received.insert(received.end(), bytes_view(frame).begin(), bytes_view(frame).end());
        data_parser parser;
        data_view view;
        ASSERT_EQ(parser.parse(bytes_view(received).subspan(shift), {}, view), frame_error::none);
        std::vector<double> out(4);
        std::vector<double> out_stamps(2);
        ASSERT_EQ(view.payload.size(), 32u);
        ASSERT_EQ(view.column.size(), 16u);
        if constexpr (std::endian::native == std::endian::little) {
            copy_swapped(out.data(), view.payload.data(), 4, 8);
            copy_swapped(out_stamps.data(), view.column.data(), 2, 8);
        } else {
            std::memcpy(out.data(), view.payload.data(), 32);
            std::memcpy(out_stamps.data(), view.column.data(), 16);
        }
        EXPECT_EQ(out, values);
        EXPECT_EQ(out_stamps, stamps);
    }
}

TEST(DataFrame, EveryTruncationIsRefusedAndNothingIsReadBeyond) {
    const std::vector<stamp_run> two{{1, 0, 1.0}, {1, 5, 2.0}};
    const std::vector<double> column{1.0, 2.0};
    for (const auto& frame :
         {encode({.count = 2, .runs = two}, eight_bytes), encode({.count = 2, .column = column}, eight_bytes),
          encode({.first_sequence = 1ull << 40, .count = 1, .runs = std::span(two).first(1)}, eight_bytes)}) {
        data_parser parser;
        data_view view;
        ASSERT_EQ(parser.parse(exact_copy(frame), {}, view), frame_error::none);
        for (std::size_t size = 0; size < frame.size(); ++size) {
            EXPECT_EQ(parser.parse(exact_copy(bytes_view(frame).first(size)), {}, view), frame_error::truncated)
                << size;
            const bool whole_head = size == frame.size() - eight_bytes.size();
            EXPECT_EQ(parser.parse(exact_copy(bytes_view(frame).first(size)), bytes_view(eight_bytes), view),
                      whole_head                ? frame_error::none
                      : size < frame.size() - 8 ? frame_error::truncated
                                                : frame_error::trailing)
                << size;
        }
        EXPECT_EQ(parser.parse(join({frame, byte_string{0}}), {}, view), frame_error::trailing);
        const bytes_view head = bytes_view(frame).first(frame.size() - 8);
        EXPECT_EQ(parser.parse(head, bytes_view(eight_bytes).first(7), view), frame_error::truncated);
        EXPECT_EQ(parser.parse(head, bytes_view(frame).first(9), view), frame_error::trailing);
    }
}

TEST(DataFrame, AFrameThatIsStillArrivingIsReadAsSoonAsItsHeadIsThere) {
    const std::vector<stamp_run> two{{1, 0, 1.0}, {1, 5, 2.0}};
    const std::vector<double> column{1.0, 2.0};
    for (const auto& frame : {encode({.count = 2, .runs = two}, eight_bytes),
                              encode({.first_sequence = 9, .count = 2, .column = column}, eight_bytes)}) {
        data_parser parser;
        data_view whole;
        ASSERT_EQ(parser.parse(frame, {}, whole), frame_error::none);
        for (std::size_t size = 0; size <= frame.size(); ++size) {
            const exact_copy received(bytes_view(frame).first(size));
            data_view view;
            std::size_t payload_bytes = 77;
            const auto error = parser.parse_begun(received, frame.size(), view, payload_bytes);
            if (size < frame.size() - 8) {
                EXPECT_EQ(error, frame_error::truncated) << size;
                EXPECT_EQ(payload_bytes, 77u);
                continue;
            }
            ASSERT_EQ(error, frame_error::none) << size;
            EXPECT_EQ(payload_bytes, 8u);
            EXPECT_EQ(view.payload.size(), size - (frame.size() - 8));
            EXPECT_EQ(view.first_sequence, whole.first_sequence);
            EXPECT_TRUE(std::ranges::equal(view.column, whole.column));
            EXPECT_EQ(view.runs.size(), whole.runs.size());
        }
        data_view view;
        std::size_t payload_bytes = 0;
        EXPECT_EQ(parser.parse_begun(frame, frame.size() + 1, view, payload_bytes), frame_error::trailing);
        EXPECT_EQ(parser.parse_begun(bytes_view(frame).first(frame.size() - 1), frame.size() - 1, view, payload_bytes),
                  frame_error::truncated);
    }
}

TEST(DataFrame, RefusesWhatItMust) {
    const auto parse = [](const byte_string& frame) {
        data_parser parser;
        data_view view;
        return parser.parse(exact_copy(frame), {}, view);
    };
    const auto with_stamps = [&](std::initializer_list<int> up_to_count, const byte_string& stamps) {
        return parse(byte_string{0x95, 1}.add(up_to_count).add(stamps).add({0xc4, 0}));
    };
    const byte_string one_stamp = byte_string{0xcb}.value(1.0);
    EXPECT_EQ(with_stamps({0, 1}, one_stamp), frame_error::none);
    EXPECT_EQ(with_stamps({0, 0}, one_stamp), frame_error::bad_field) << "no samples";
    EXPECT_EQ(with_stamps({0xff, 1}, one_stamp), frame_error::bad_field) << "negative sequence";
    EXPECT_EQ(with_stamps({0, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0}, one_stamp), frame_error::bad_field) << "2^32 samples";
    EXPECT_EQ(with_stamps({0xcf, 255, 255, 255, 255, 255, 255, 255, 255, 1}, one_stamp), frame_error::bad_field)
        << "sequence overflow";
    EXPECT_EQ(with_stamps({0xcf, 255, 255, 255, 255, 255, 255, 255, 254, 1}, one_stamp), frame_error::none);
    EXPECT_EQ(with_stamps({0, 1}, byte_string{0xca}.value(1.0f)), frame_error::bad_field) << "float32 stamp";
    EXPECT_EQ(with_stamps({0, 1}, {0xc0}), frame_error::bad_field) << "no stamp";
    EXPECT_EQ(with_stamps({0, 1}, byte_string{0xc4, 16}.repeat(0, 16)), frame_error::bad_field) << "two stamps for one";
    EXPECT_EQ(with_stamps({0, 1}, {0xc4, 0}), frame_error::bad_field) << "empty column";
    EXPECT_EQ(with_stamps({0, 1}, {0x90}), frame_error::bad_field) << "no runs";
    EXPECT_EQ(with_stamps({0, 1}, byte_string{0x93, 1, 0, 0xcb}.value(1.0)), frame_error::none);
    EXPECT_EQ(with_stamps({0, 2}, byte_string{0x93, 1, 0, 0xcb}.value(1.0)), frame_error::bad_field) << "uncovered";
    EXPECT_EQ(with_stamps({0, 1}, byte_string{0x93, 2, 1, 0xcb}.value(1.0)), frame_error::bad_field) << "too many";
    EXPECT_EQ(with_stamps({0, 2}, byte_string{0x93, 2, 0, 0xcb}.value(1.0)), frame_error::bad_field) << "ahead short";
    EXPECT_EQ(with_stamps({0, 1}, byte_string{0x94, 1, 0, 0xcb}.value(1.0).add({1})), frame_error::bad_field) << "4/3";
    byte_string zero{0x96, 0, 0, 0xcb};
    zero.value(1.0).add({1, 0, 0xcb}).value(1.0);
    EXPECT_EQ(with_stamps({0, 1}, zero), frame_error::bad_field) << "an empty run";
    byte_string many{0xdc, 0x01, 0x83};
    for (int i = 0; i < 129; ++i)
        many.add({1, 0, 0xcb}).value(1.0);
    EXPECT_EQ(with_stamps({0, 0xcc, 129}, many), frame_error::too_large);

    EXPECT_EQ(parse({0x94, 1, 0}), frame_error::not_a_frame);
    EXPECT_EQ(parse({0x95, 0xff, 0}), frame_error::not_a_frame);
    EXPECT_EQ(parse({0x95, 6, 0}), frame_error::unknown_kind);
    EXPECT_EQ(parse({0x95, 2, 0}), frame_error::bad_field) << "a keep-alive";
    EXPECT_EQ(parse({}), frame_error::truncated);
}

TEST(DataFrame, SixBytesThatAskForGigabytesGetNothing) {
    data_parser parser;
    data_view view;
    const test::allocation_counter counter;
    for (const byte_string& bomb :
         {byte_string{0x95, 1, 0, 1, 0xdd, 255, 255, 255, 255}, byte_string{0x95, 1, 0, 1, 0xc6, 255, 255, 255, 255},
          byte_string{0x95, 1, 0, 1, 0xdf, 255, 255, 255, 255}, byte_string{0xdd, 255, 255, 255, 255, 1}})
        EXPECT_NE(parser.parse(bomb, {}, view), frame_error::none);
    const byte_string payload_bomb = byte_string{0x95, 1, 0, 1, 0xcb}.value(1.0).add({0xc6, 255, 255, 255, 255});
    EXPECT_EQ(parser.parse(payload_bomb, {}, view), frame_error::truncated);
    EXPECT_LE(counter.largest(), 64u);
}

TEST(DataFrame, ARefusedFrameLeavesTheViewAlone) {
    data_parser parser;
    data_view view{.first_sequence = 5};
    EXPECT_NE(parser.parse(byte_string{0x95, 1, 9, 1}, {}, view), frame_error::none);
    EXPECT_EQ(view.first_sequence, 5u);
}

TEST(StampRun, ExpandsToWhatTheFormulaSaysBitForBit) {
    for (const double rate : {0.0, 1.0, 250.0, 1000.0 / 3, 30'000.0, 1e-3}) {
        for (const stamp_run run : {stamp_run{1, 0, 5.0}, stamp_run{999, 998, 1234.567891},
                                    stamp_run{1000, 4'294'967'295u, 1e9}, stamp_run{7, 3'000'000'000u, 0.1}}) {
            std::vector<double> stamps(run.count);
            expand_run(run, rate, stamps.data());
            for (std::uint32_t j = 0; j < run.count; ++j)
                ASSERT_EQ(std::bit_cast<std::uint64_t>(stamps[j]),
                          std::bit_cast<std::uint64_t>(run_stamp(run, j, rate)))
                    << "rate " << rate << " sample " << j;
        }
    }
}

TEST(StampRun, ExpandsToWhatTheFormulaSaysForAnyRate) {
    std::mt19937_64 engine(1);
    std::vector<double> stamps(64);
    for (int round = 0; round < 100'000; ++round) {
        double rate = std::bit_cast<double>(engine() >> 1); // any positive number there is
        if (round % 3 == 0)
            rate = 1 + static_cast<double>(engine() % 1'000'000) / 8;
        else if (round % 3 == 1)
            rate = std::nextafter(std::ldexp(1.0, static_cast<int>(engine() % 80) - 40), round % 2 ? 0.0 : 1e9);
        if (!std::isfinite(rate) || rate == 0)
            continue;
        stamp_run run{1 + static_cast<std::uint32_t>(engine() % stamps.size()), 0, 0};
        run.ahead = run.count - 1 + static_cast<std::uint32_t>(engine() % 4'000'000'000u);
        run.base = round % 2 ? 0.0 : static_cast<double>(engine() % 1'000'000) / 7;
        expand_run(run, rate, stamps.data());
        for (std::uint32_t j = 0; j < run.count; ++j)
            ASSERT_EQ(std::bit_cast<std::uint64_t>(stamps[j]), std::bit_cast<std::uint64_t>(run_stamp(run, j, rate)))
                << "rate " << rate << " ahead " << run.ahead << " sample " << j;
    }
}

TEST(StampRun, LongRunsExpandAcrossBlocks) {
    const stamp_run run{.count = (1u << 20) + 3, .ahead = (1u << 21), .base = 100.0};
    std::vector<double> stamps(run.count);
    expand_run(run, 10'000.0, stamps.data());
    for (const std::uint32_t j : {0u, (1u << 20) - 1, 1u << 20, (1u << 20) + 2})
        EXPECT_EQ(stamps[j], run_stamp(run, j, 10'000.0));
}

TEST(StampRun, CuttingARunAnywhereChangesNoStamp) {
    const double rate = 1000.0 / 7;
    const stamp_run whole{.count = 20, .ahead = 19, .base = 1234.56789};
    std::vector<double> expected(20);
    expand_run(whole, rate, expected.data());
    for (std::uint32_t cut = 1; cut < 20; ++cut) {
        const std::array<stamp_run, 2> runs{{{cut, 19, whole.base}, {20 - cut, 19 - cut, whole.base}}};
        const auto frame = encode({.count = 20, .runs = runs}, eight_bytes);
        data_parser parser;
        data_view view;
        ASSERT_EQ(parser.parse(frame, {}, view), frame_error::none);
        EXPECT_EQ(expand(view, rate), expected) << cut;
    }
}

TEST(PeekKind, TellsFramesFromWhatIsNone) {
    EXPECT_EQ(peek_kind(byte_string{0x95, 1}), 1);
    EXPECT_EQ(peek_kind(byte_string{0x95, 99, 0}), 99);
    EXPECT_EQ(peek_kind(byte_string{0x95}), std::nullopt);
    EXPECT_EQ(peek_kind(byte_string{0x95, 0x80}), std::nullopt);
    EXPECT_EQ(peek_kind(byte_string{0xc1, 1}), std::nullopt);
    EXPECT_EQ(peek_kind({}), std::nullopt);
}

} // namespace
} // namespace rivulet::wire
