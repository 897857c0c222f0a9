#include "core/convert.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace rivulet::core {
namespace {

template<class To, class From>
To convert(From value) noexcept {
    if constexpr (std::is_floating_point_v<To>) {
        return static_cast<To>(value);
    } else if constexpr (std::is_floating_point_v<From>) {
        // The limits of To as From: the upper one may round up to one beyond, hence >=.
        constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
        constexpr From high = static_cast<From>(std::numeric_limits<To>::max());
        if (std::isnan(value))
            return 0;
        const From rounded = std::nearbyint(value);
        if (rounded <= low)
            return std::numeric_limits<To>::min();
        if (rounded >= high)
            return std::numeric_limits<To>::max();
        return static_cast<To>(rounded);
    } else {
        if constexpr (sizeof(To) < sizeof(From)) {
            if (value < std::numeric_limits<To>::min())
                return std::numeric_limits<To>::min();
            if (value > std::numeric_limits<To>::max())
                return std::numeric_limits<To>::max();
        }
        return static_cast<To>(value);
    }
}

template<class To, class From>
void convert_all(std::byte* to, const std::byte* from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        From value;
        std::memcpy(&value, from + i * sizeof(From), sizeof(From));
        const To converted = convert<To>(value);
        std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
    }
}

/// Calls f with a value of the C++ type of a numeric format.
template<class F>
void with_type(channel_format format, F&& f) noexcept {
    switch (format) {
    case channel_format::float32: return f(float{});
    case channel_format::float64: return f(double{});
    case channel_format::int8: return f(std::int8_t{});
    case channel_format::int16: return f(std::int16_t{});
    case channel_format::int32: return f(std::int32_t{});
    case channel_format::int64: return f(std::int64_t{});
    case channel_format::string:
    case channel_format::blob: return;
    }
}

} // namespace

void convert_values(void* to, channel_format to_format, const void* from, channel_format from_format,
                    std::size_t count) noexcept {
    if (count == 0)
        return;
    if (to_format == from_format) {
        std::memcpy(to, from, count * value_bytes(to_format));
        return;
    }
    with_type(to_format, [&]<class To>(To) {
        with_type(from_format, [&]<class From>(From) {
            convert_all<To, From>(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), count);
        });
    });
}

} // namespace rivulet::core
