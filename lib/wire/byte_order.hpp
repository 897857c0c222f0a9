#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rivulet::wire {

/// An unsigned integer with its bytes reversed.
template<class U>
constexpr U reverse_bytes(U value) noexcept {
    static_assert(std::is_unsigned_v<U> && sizeof(U) <= 8);
    if constexpr (sizeof(U) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(U) == 4)
        return __builtin_bswap32(value);
    else if constexpr (sizeof(U) == 8)
        return __builtin_bswap64(value);
    else
        return value;
}

/// Reads an unsigned integer written in `order`, at any alignment.
template<class U>
U load(const void* from, std::endian order) noexcept {
    U value;
    std::memcpy(&value, from, sizeof value);
    return order == std::endian::native ? value : reverse_bytes(value);
}

/// Copies `count` values of `value_bytes` each (1, 2, 4, 8) from any alignment, reversing each value's bytes.
/// The two ranges must not overlap.
void copy_swapped(void* to, const void* from, std::size_t count, std::size_t value_bytes) noexcept;

} // namespace rivulet::wire
