#pragma once

#include "frame_kind.hpp"

#include <rivulet/clock.hpp>

#include <vector>

/// A measurement of the clock that a capture's stamps are of (FORMAT.md, "In files").
namespace rivulet::wire {

inline constexpr std::uint8_t clock_record_kind = 64;
inline constexpr std::size_t max_clock_record_bytes = 512;

/// All numbers in it are finite, by contract.
std::vector<std::byte> encode_clock(const clock_record& record);
/// `out` is written only when the result is none.
frame_error decode_clock(bytes_view frame, clock_record& out);

} // namespace rivulet::wire
