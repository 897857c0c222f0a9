#pragma once

#include "frame_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace rivulet::wire {

/// keep-alive and end: both carry the sequence number after the last sample, and local_clock() of the sender.
struct status_frame {
    frame_kind kind = frame_kind::keep_alive;
    std::uint64_t next_sequence = 0;
    double sent_at = 0;
};
inline constexpr std::size_t status_frame_capacity = 32;
/// Returns the part of `buffer` used.
bytes_view encode_status(const status_frame& frame, std::span<std::byte, status_frame_capacity> buffer) noexcept;
/// `out` is written only when the result is none.
frame_error decode_status(bytes_view frame, status_frame& out) noexcept;

} // namespace rivulet::wire
