#pragma once

#include "wire/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// What ZeroMQ links send beside frames (FORMAT.md, ZeroMQ framing).
namespace rivulet::wire {

/// The last part of a greeting: a msgpack uint64.
std::array<std::byte, 9> encode_sequence(std::uint64_t sequence) noexcept;
/// Any msgpack unsigned integer that fills the part.
std::optional<std::uint64_t> decode_sequence(bytes_view part) noexcept;

/// A frame of a kind that readers ignore, of just that many bytes (>= 16).
std::vector<std::byte> encode_padding(std::size_t bytes);

} // namespace rivulet::wire
