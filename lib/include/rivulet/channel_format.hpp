#pragma once

#include <rivulet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace rivulet {

/// The type of every value of a stream. The numbers are those on the wire.
enum class channel_format : std::uint8_t {
    float32 = 1,
    float64 = 2,
    string = 3, ///< UTF-8, any length; bytes are carried as they are, an embedded NUL and invalid UTF-8 too
    int32 = 4,
    int16 = 5,
    int8 = 6,
    int64 = 7,
    blob = 8 ///< one channel of bytes, any length up to max_frame
};

/// Bytes of one value; 0 for string and blob.
constexpr std::size_t value_bytes(channel_format format) noexcept {
    switch (format) {
    case channel_format::int8: return 1;
    case channel_format::int16: return 2;
    case channel_format::float32:
    case channel_format::int32: return 4;
    case channel_format::float64:
    case channel_format::int64: return 8;
    case channel_format::string:
    case channel_format::blob: return 0;
    }
    return 0;
}

constexpr bool is_fixed_size(channel_format format) noexcept { return value_bytes(format) != 0; }

RIVULET_API std::string_view to_string(channel_format format) noexcept;
/// "float32", "int16", "string", ...; nothing when the text names no format.
RIVULET_API std::optional<channel_format> parse_channel_format(std::string_view text) noexcept;

/// The numeric element types that push and pull take.
template<class T>
concept numeric_value = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int8_t> ||
    std::is_same_v<T, std::int16_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

/// The channel format whose values have the C++ type T.
template<numeric_value T>
constexpr channel_format format_of() noexcept {
    if constexpr (std::is_same_v<T, float>)
        return channel_format::float32;
    else if constexpr (std::is_same_v<T, double>)
        return channel_format::float64;
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return channel_format::int8;
    else if constexpr (std::is_same_v<T, std::int16_t>)
        return channel_format::int16;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return channel_format::int32;
    else
        return channel_format::int64;
}

} // namespace rivulet
