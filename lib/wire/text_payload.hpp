#pragma once

#include "frame_kind.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rivulet::wire {

/// Payload of strings and blobs: values+1 end offsets (uint32, the first being the base), then the bytes.
/// Checks that offsets never fall, and end where the payload ends. @param values = samples * channels.
class text_payload {
public:
    static frame_error parse(bytes_view payload, std::uint64_t values, std::endian order, text_payload& out) noexcept;
    std::uint64_t size() const noexcept { return values_; }
    /// Value i < size(), where it lies in the payload.
    bytes_view operator[](std::uint64_t i) const noexcept;

private:
    std::uint32_t offset(std::uint64_t i) const noexcept;
    const std::byte* offsets_ = nullptr;
    bytes_view bytes_;
    std::uint64_t values_ = 0;
    bool swapped_ = false;
};

} // namespace rivulet::wire
