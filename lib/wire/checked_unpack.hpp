#pragma once

#include "frame_kind.hpp"

#include <cstddef>
#include <msgpack.hpp>

namespace rivulet::wire {

/// How much one msgpack value from outside may hold.
struct unpack_budget {
    std::size_t values = 256;      ///< all values inside it, each key and each element counting as one
    std::size_t depth = 4;         ///< arrays and maps inside each other
    std::size_t text_bytes = 1024; ///< one string, bin or ext
};

/// Unpacks exactly one value that fills `bytes`. Goes through it once against the budget and allocates for it only
/// then: at most some 24 bytes a value. Strings and bins in `out` point into `bytes`.
/// none | truncated | trailing | bad_field (no msgpack) | too_large.
frame_error checked_unpack(bytes_view bytes, const unpack_budget& budget, msgpack::object_handle& out);

} // namespace rivulet::wire
