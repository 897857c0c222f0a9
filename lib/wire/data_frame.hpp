#pragma once

#include "frame_kind.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rivulet::wire {

/// A run of regular stamps: sample j of the run (0-based, j < count) has stamp base - (ahead - j) / rate, computed in
/// float64 in just that way; with rate 0 every sample has stamp base. `ahead` >= count - 1: base may lie beyond the
/// run's last sample, so that a run can be cut anywhere without changing a bit of any stamp.
struct stamp_run {
    std::uint32_t count = 0;
    std::uint32_t ahead = 0;
    double base = 0;
    friend bool operator==(const stamp_run&, const stamp_run&) = default;
};

inline constexpr std::size_t max_stamp_runs = 128; ///< in one frame

/// The stamp of sample `j` of a run. The one place where the formula stands.
inline double run_stamp(const stamp_run& run, std::uint32_t j, double rate_hz) noexcept {
    return rate_hz > 0 ? run.base - static_cast<double>(run.ahead - j) / rate_hz : run.base;
}
/// Fills stamps[0 .. run.count). Vectorisable; bit for bit what run_stamp gives.
void expand_run(const stamp_run& run, double rate_hz, double* stamps) noexcept;

/// A data frame before encoding; at least one sample. Exactly one of `runs` (they cover all samples) and `column` (one
/// stamp a sample) is not empty. Column and payload: each less than 4 GiB, or msgpack has no length for it.
struct data_header {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::span<const stamp_run> runs{};
    std::span<const double> column{};
    std::uint64_t payload_bytes = 0;
};

/// Upper bound of what encode_data_head writes for this many runs.
constexpr std::size_t data_head_capacity(std::size_t runs) noexcept { return 48 + 20 * runs; }

/// What surrounds the payload on the wire:  head | column bytes (if any) | tail | payload. Without a column `tail` is
/// empty and `head` ends with the payload's bin header.
struct data_head {
    bytes_view head;
    bytes_view column{};
    bytes_view tail;
};

/// Encodes all of a data frame but its payload into `buffer` (>= data_head_capacity(runs)); no allocation.
data_head encode_data_head(const data_header& header, std::span<std::byte> buffer) noexcept;

/// A data frame as received; points into the received bytes. count >= 1, and first_sequence + count fits 64 bits.
/// Whether `payload` holds count samples is for whoever knows the stream's format to check.
struct data_view {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    bytes_view column{};               ///< 8 * count bytes in the sender's order, or empty
    std::span<const stamp_run> runs{}; ///< native order, covering count samples; points into the parser; or empty
    bytes_view payload{};              ///< in the sender's order, any alignment
};

/// Parses data frames without allocating. One per connection; its result is valid until the next parse.
class data_parser {
public:
    /// @param head  the frame, or its first part when `body` is given: then it must end with the payload's bin header
    ///              and `body` is the payload.
    /// Never reads outside; never trusts a length. `out` is written only when the result is none.
    frame_error parse(bytes_view head, std::optional<bytes_view> body, data_view& out) noexcept;
    /// The beginning of a frame of `frame_bytes`, as far as it has come (all of it at most): `payload_bytes` is what
    /// its payload will have, out.payload what has come of it. `truncated` also when the head has not come in full yet.
    /// Both are written only when the result is none.
    frame_error parse_begun(bytes_view received, std::size_t frame_bytes, data_view& out,
                            std::size_t& payload_bytes) noexcept;

private:
    std::array<stamp_run, max_stamp_runs> run_store_;
};

} // namespace rivulet::wire
