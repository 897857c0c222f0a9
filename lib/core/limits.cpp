#include "core/limits.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace rivulet::core {
namespace {

/// History of `seconds` in bytes, stamps included.
std::size_t bytes_of(const stream_info& info, double seconds) {
    const double bytes = seconds * info.nominal_rate_hz * static_cast<double>(info.sample_bytes() + sizeof(double));
    return bytes < 1e18 ? static_cast<std::size_t>(bytes) + 1 : SIZE_MAX / 2;
}

} // namespace

samples::log_options log_options_for(const stream_info& info, const std::optional<buffer_size>& wanted,
                                     const config& settings) {
    samples::log_options options;
    options.format = info.format;
    options.channels = static_cast<std::size_t>(info.channel_count);
    options.rate_hz = info.nominal_rate_hz;
    const bool regular = info.nominal_rate_hz > 0 && is_fixed_size(info.format);
    if (!wanted) {
        options.bytes = regular
                            ? std::min(bytes_of(info, std::chrono::duration<double>(settings.tuning.buffer).count()),
                                       settings.tuning.buffer_max_bytes)
                            : settings.tuning.buffer_irregular_bytes;
    } else if (const auto* bytes = std::get_if<std::size_t>(&*wanted)) {
        options.bytes = *bytes;
    } else {
        const auto duration = std::get<std::chrono::nanoseconds>(*wanted);
        if (!regular)
            throw error(errc::invalid_argument,
                        fmt::format("stream \"{}\": its buffer is given as a duration, but it has no nominal rate and "
                                    "fixed sample size; give a number of bytes",
                                    info.name));
        options.bytes = bytes_of(info, std::chrono::duration<double>(duration).count());
    }
    if (options.bytes == 0)
        throw error(errc::invalid_argument,
                    fmt::format("stream \"{}\": its buffer is empty; give a positive size", info.name));
    return options;
}

void check_max_frame(std::size_t max_frame, const stream_info& info) {
    if (info.sample_bytes() + sizeof(double) <= max_frame)
        return;
    throw error(errc::limit_exceeded,
                fmt::format("stream \"{}\": one sample has {} bytes, beyond max_frame ({} bytes); raise [tuning] "
                            "max_frame on both ends",
                            info.name, info.sample_bytes(), max_frame));
}

} // namespace rivulet::core
