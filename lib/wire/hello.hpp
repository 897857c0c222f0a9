#pragma once

#include "frame_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rivulet::wire {

/// What an inlet says of itself when it connects: hello_first_byte, the token's 16 random bytes, then a msgpack map.
struct hello {
    token tok{};
    std::string name{};            ///< at most 64 bytes of UTF-8, no control characters
    std::uint64_t history_ns = 0;  ///< start with this much of the history; UINT64_MAX = all
    std::string resume_uid{};      ///< resume this outlet's stream (at most 64 bytes) ...
    std::uint64_t resume_from = 0; ///< ... from this sequence number on, as far as its history reaches
};
inline constexpr std::size_t max_hello_bytes = 512;
inline constexpr std::size_t max_consumer_name_bytes = 64;
inline constexpr std::size_t max_uid_bytes = 64;

/// A longer name is cut between two characters, control characters become '?'. Equal hellos give equal bytes.
std::vector<std::byte> encode_hello(const hello& h);
/// `out` is written only when the result is none.
frame_error decode_hello(bytes_view bytes, hello& out);

/// A fresh random token. @throws error system.
token make_token();
/// The 32 hexadecimal digits of a token's random part.
std::string to_string(const token& t);

} // namespace rivulet::wire
