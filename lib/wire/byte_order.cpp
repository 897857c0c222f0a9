#include "byte_order.hpp"

#include <cassert>

namespace rivulet::wire {
namespace {

template<class U>
void copy_reversed(std::byte* __restrict to, const std::byte* __restrict from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        U value;
        std::memcpy(&value, from + i * sizeof(U), sizeof(U));
        value = reverse_bytes(value);
        std::memcpy(to + i * sizeof(U), &value, sizeof(U));
    }
}

} // namespace

void copy_swapped(void* to, const void* from, std::size_t count, std::size_t value_bytes) noexcept {
    auto* const out = static_cast<std::byte*>(to);
    const auto* const in = static_cast<const std::byte*>(from);
    switch (value_bytes) {
    case 1:
        if (count != 0)
            std::memcpy(out, in, count);
        return;
    case 2: return copy_reversed<std::uint16_t>(out, in, count);
    case 4: return copy_reversed<std::uint32_t>(out, in, count);
    case 8: return copy_reversed<std::uint64_t>(out, in, count);
    default: assert(false && "value_bytes is 1, 2, 4 or 8");
    }
}

} // namespace rivulet::wire
