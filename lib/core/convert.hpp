#pragma once

#include <rivulet/channel_format.hpp>

#include <cstddef>

namespace rivulet::core {

/// Copies `count` values, converting between numeric formats: float to integer rounds to nearest (ties to even) and
/// saturates, NaN becomes 0; wider to narrower integers saturate; to float rounds to nearest. Any alignment.
void convert_values(void* to, channel_format to_format, const void* from, channel_format from_format,
                    std::size_t count) noexcept;

} // namespace rivulet::core
