#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rivulet::wire {

using bytes_view = std::span<const std::byte>;

inline constexpr std::uint8_t frame_first_byte = 0x95; ///< msgpack: array of five
inline constexpr std::uint8_t token_first_byte = 0xC1; ///< never used by msgpack: begins tokens and addressed messages
inline constexpr std::uint8_t hello_first_byte = 0xC0; ///< begins a hello (sorts before the token in a zmq trie)
inline constexpr std::size_t token_bytes = 17;         ///< token_first_byte + 16 random bytes
inline constexpr std::uint32_t format_version = 1;

enum class frame_kind : std::uint8_t { info = 0, data = 1, keep_alive = 2, end = 3, request = 4, reply = 5 };

using token = std::array<std::byte, token_bytes>;

/// Why a frame was refused.
enum class frame_error : std::uint8_t {
    none,
    truncated,   ///< ends before its own lengths say
    trailing,    ///< bytes after its end
    not_a_frame, ///< does not begin with an array of five and a kind
    unknown_kind,
    unknown_version, ///< an info frame of a later, incompatible format
    bad_field,       ///< a field of the wrong type or out of range
    too_large        ///< beyond a stated limit
};
/// "ends too early", ...: for the sentence "a frame from X was ignored: it ...".
std::string_view to_string(frame_error error) noexcept;

/// The kind of a frame by its first bytes; nothing when it is no frame. Kinds not in frame_kind are returned as they
/// are.
std::optional<std::uint8_t> peek_kind(bytes_view frame) noexcept;

/// Checks that a frame begins as one of this kind. none | truncated | not_a_frame | unknown_kind | bad_field (another
/// kind of ours).
frame_error check_kind(bytes_view frame, frame_kind wanted) noexcept;

} // namespace rivulet::wire
