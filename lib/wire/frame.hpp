#pragma once

#include <rivulet/stream_info.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The frame codec of FORMAT.md v1. Pure functions: no I/O, no clock, no global state. Any thread.
namespace rivulet::wire {

using bytes_view = std::span<const std::byte>;

inline constexpr std::uint8_t frame_first_byte = 0x95; ///< msgpack: array of five
inline constexpr std::uint8_t token_first_byte = 0xC1; ///< never used by msgpack: begins tokens and addressed messages
inline constexpr std::uint8_t hello_first_byte = 0xC0; ///< begins a hello (sorts before the token in a zmq trie)
inline constexpr std::size_t token_bytes = 17;         ///< token_first_byte + 16 random bytes
inline constexpr std::uint32_t format_version = 1;

enum class frame_kind : std::uint8_t { info = 0, data = 1, keep_alive = 2, end = 3, request = 4, reply = 5 };

using token = std::array<std::byte, token_bytes>;

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
/// Fills stamps[0 .. run.count). Vectorisable.
void expand_run(const stamp_run& run, double rate_hz, double* stamps) noexcept;

/// A data frame before encoding. Exactly one of `runs` (they cover all samples) and `column` (one stamp a sample) is
/// not empty.
struct data_header {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::span<const stamp_run> runs;
    std::span<const double> column;
    std::uint64_t payload_bytes = 0;
};

/// Upper bound of what encode_data_head writes for this many runs.
constexpr std::size_t data_head_capacity(std::size_t runs) noexcept { return 48 + 20 * runs; }

/// What surrounds the payload on the wire:  head | column bytes (if any) | tail | payload. Without a column `tail` is
/// empty and `head` ends with the payload's bin header.
struct data_head {
    bytes_view head;
    bytes_view column;
    bytes_view tail;
};

/// Encodes all of a data frame but its payload into `buffer` (>= data_head_capacity(runs)); no allocation.
data_head encode_data_head(const data_header& header, std::span<std::byte> buffer) noexcept;

/// A data frame as received; points into the received bytes.
struct data_view {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    bytes_view column;               ///< 8 * count bytes in the sender's order, or empty
    std::span<const stamp_run> runs; ///< native order; points into `run_store` of the parser, or empty
    bytes_view payload;              ///< in the sender's order, any alignment
};

/// Why a frame was refused.
enum class frame_error : std::uint8_t {
    none,
    truncated,   ///< ends before its own lengths say
    trailing,    ///< bytes after its end
    not_a_frame, ///< does not begin with an array of five and a kind
    unknown_kind,
    bad_field, ///< a field of the wrong type or out of range
    too_large  ///< beyond a stated limit
};
std::string_view to_string(frame_error error) noexcept;

/// The kind of a frame by its first bytes; nothing when it is no frame. Kinds not in frame_kind are returned as they
/// are.
std::optional<std::uint8_t> peek_kind(bytes_view frame) noexcept;

/// Parses data frames without allocating. One per connection; its result is valid until the next parse.
class data_parser {
public:
    /// @param head  the frame, or its first part when `body` is given: then it must end with the payload's bin header
    ///              and `body` is the payload.
    /// Never reads outside; never trusts a length.
    frame_error parse(bytes_view head, std::optional<bytes_view> body, data_view& out) noexcept;

private:
    std::array<stamp_run, max_stamp_runs> run_store_;
};

/// Limits on what an info frame may hold; larger ones are refused before anything is allocated for them.
struct info_limits {
    std::size_t bytes = 16u << 20;
    std::size_t text_bytes = 1u << 20; ///< one metadata value
    std::size_t metadata_nodes = 500'000;
    std::size_t metadata_depth = 32;
};

/// An info frame: what the stream is, and what a reader needs to make sense of its frames.
struct info_frame {
    stream_info info;
    std::endian order = std::endian::native; ///< of all bins of this stream
    std::string origin;                      ///< relays: uid of the stream this one repeats; empty for an original
    std::vector<std::string> service;        ///< service endpoints (reserved: empty in files and before there are any)
    std::uint64_t next_sequence = 0;         ///< of the next sample when the frame was made
};

std::vector<std::byte> encode_info(const info_frame& frame);
frame_error decode_info(bytes_view frame, info_frame& out, const info_limits& limits = {});

/// keep-alive and end: both carry the sequence number after the last sample, and local_clock() of the sender.
struct status_frame {
    frame_kind kind = frame_kind::keep_alive;
    std::uint64_t next_sequence = 0;
    double sent_at = 0;
};
inline constexpr std::size_t status_frame_capacity = 32;
/// Returns the part of `buffer` used.
bytes_view encode_status(const status_frame& frame, std::span<std::byte, status_frame_capacity> buffer) noexcept;
frame_error decode_status(bytes_view frame, status_frame& out) noexcept;

/// What an inlet says of itself when it connects: hello_first_byte, the token's 16 random bytes, then a msgpack map.
struct hello {
    token tok{};
    std::string name;              ///< at most 64 bytes of UTF-8
    std::uint64_t history_ns = 0;  ///< start with this much of the history; UINT64_MAX = all
    std::string resume_uid;        ///< resume this outlet's stream ...
    std::uint64_t resume_from = 0; ///< ... from this sequence number on, as far as its history reaches
};
inline constexpr std::size_t max_hello_bytes = 512;
std::vector<std::byte> encode_hello(const hello& h);
frame_error decode_hello(bytes_view bytes, hello& out);

/// A fresh random token. @throws error system.
token make_token();
/// The 32 hexadecimal digits of a token's random part.
std::string to_string(const token& t);

/// Copies `count` values of `value_bytes` each (1, 2, 4, 8) from any alignment, reversing each value's bytes.
void copy_swapped(void* to, const void* from, std::size_t count, std::size_t value_bytes) noexcept;

/// Payload of strings and blobs: values+1 end offsets (uint32, the first being the base), then the bytes.
/// Checks that offsets never fall, and end where the payload ends. @param values = samples * channels.
class text_payload {
public:
    static frame_error parse(bytes_view payload, std::uint64_t values, std::endian order, text_payload& out) noexcept;
    std::uint64_t size() const noexcept { return values_; }
    bytes_view operator[](std::uint64_t i) const noexcept;

private:
    std::uint32_t offset(std::uint64_t i) const noexcept;
    const std::byte* offsets_ = nullptr;
    bytes_view bytes_;
    std::uint64_t values_ = 0;
    bool swapped_ = false;
};

} // namespace rivulet::wire
