#pragma once

#include "frame_kind.hpp"

#include <rivulet/stream_info.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rivulet::wire {

/// Limits on what an info frame may hold; larger ones are refused before anything is allocated for them.
struct info_limits {
    std::size_t bytes = 16u << 20;
    std::size_t text_bytes = 1u << 20; ///< one metadata name or value
    std::size_t metadata_nodes = 500'000;
    std::size_t metadata_depth = 32; ///< the root counts as one
};

/// An info frame: what the stream is, and what a reader needs to make sense of its frames.
struct info_frame {
    stream_info info{};
    std::endian order = std::endian::native; ///< of all bins of this stream
    std::vector<std::string> service{};      ///< service endpoints (reserved: empty in files and before there are any)
    std::uint64_t next_sequence = 0;         ///< of the next sample when the frame was made
};

/// @throws error limit_exceeded: more than a decoder with these limits would take, naming what is too much.
std::vector<std::byte> encode_info(const info_frame& frame, const info_limits& limits = {});
/// `out.info` satisfies validate(); uid, origin and relays are [0-9A-Za-z_-]*, safe in file names. `out` is written
/// only when the result is none.
frame_error decode_info(bytes_view frame, info_frame& out, const info_limits& limits = {});

} // namespace rivulet::wire
