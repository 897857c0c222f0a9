#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// The head of a data frame (lib/wire/FORMAT.md) at a fixed width and written by hand, as the plain loops send it: what
/// a person would write who needs nothing else.
namespace rivulet::tools::bench {

struct plain_head {
    std::uint64_t first = 0; ///< sequence number of the first sample
    std::uint32_t count = 0;
    double stamp = 0;
    std::uint32_t payload_bytes = 0;
};

/// 4 bytes of length, which belong to sockets only, then the head proper.
inline constexpr std::size_t length_bytes = 4;
inline constexpr std::size_t head_bytes = 2 + 9 + 5 + 9 + 5;
using head_buffer = std::array<std::byte, length_bytes + head_bytes>;

namespace detail {

template<class T>
T swapped(T value) noexcept {
    static_assert(std::endian::native == std::endian::little);
    if constexpr (sizeof(T) == 8)
        return __builtin_bswap64(value);
    else
        return __builtin_bswap32(value);
}
template<class T>
std::byte* put(std::byte* at, std::uint8_t type, T value) noexcept {
    *at = std::byte{type};
    value = swapped(value);
    std::memcpy(at + 1, &value, sizeof value);
    return at + 1 + sizeof value;
}
template<class T>
T get(const std::byte* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return swapped(value);
}

} // namespace detail

inline void write_head(head_buffer& out, const plain_head& h) noexcept {
    const std::uint32_t length = detail::swapped(static_cast<std::uint32_t>(head_bytes) + h.payload_bytes);
    std::memcpy(out.data(), &length, sizeof length);
    std::byte* at = out.data() + length_bytes;
    *at++ = std::byte{0x95};
    *at++ = std::byte{1};
    at = detail::put(at, 0xcf, h.first);
    at = detail::put(at, 0xce, h.count);
    at = detail::put(at, 0xcb, std::bit_cast<std::uint64_t>(h.stamp));
    detail::put(at, 0xc6, h.payload_bytes);
}

/// @param head head_bytes bytes, without the length.
inline plain_head read_head(const std::byte* head) noexcept {
    return {detail::get<std::uint64_t>(head + 3), detail::get<std::uint32_t>(head + 12),
            std::bit_cast<double>(detail::get<std::uint64_t>(head + 17)), detail::get<std::uint32_t>(head + 26)};
}

} // namespace rivulet::tools::bench
