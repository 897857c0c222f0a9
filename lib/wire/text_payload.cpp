#include "text_payload.hpp"

#include "byte_order.hpp"

namespace rivulet::wire {

frame_error text_payload::parse(bytes_view payload, std::uint64_t values, std::endian order,
                                text_payload& out) noexcept {
    constexpr std::size_t offset_bytes = sizeof(std::uint32_t);
    if (values >= payload.size() / offset_bytes)
        return frame_error::truncated;
    text_payload text;
    text.offsets_ = payload.data();
    text.bytes_ = payload.subspan((values + 1) * offset_bytes);
    text.values_ = values;
    text.swapped_ = order != std::endian::native;

    const std::uint32_t base = text.offset(0);
    std::uint32_t last = base;
    for (std::uint64_t i = 1; i <= values; ++i) {
        const std::uint32_t next = text.offset(i);
        if (next < last)
            return frame_error::bad_field;
        last = next;
    }
    if (last - base != text.bytes_.size())
        return last - base > text.bytes_.size() ? frame_error::truncated : frame_error::trailing;
    out = text;
    return frame_error::none;
}

bytes_view text_payload::operator[](std::uint64_t i) const noexcept {
    const std::uint32_t begin = offset(i);
    return bytes_.subspan(begin - offset(0), offset(i + 1) - begin);
}

std::uint32_t text_payload::offset(std::uint64_t i) const noexcept {
    const auto value = load<std::uint32_t>(offsets_ + i * sizeof(std::uint32_t), std::endian::native);
    return swapped_ ? reverse_bytes(value) : value;
}

} // namespace rivulet::wire
