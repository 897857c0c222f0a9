#pragma once

#include "samples/sample_log.hpp"

#include <rivulet/config.hpp>
#include <rivulet/options.hpp>
#include <rivulet/stream_info.hpp>

#include <optional>

namespace rivulet::core {

/// The log that keeps `wanted` (or the configured history) of a stream. @throws error invalid_argument: a duration for
/// an irregular stream, or nothing at all.
samples::log_options log_options_for(const stream_info& info, const std::optional<buffer_size>& wanted,
                                     const config& settings);

/// One sample of the stream must fit. @throws error limit_exceeded.
void check_max_frame(std::size_t max_frame, const stream_info& info);

} // namespace rivulet::core
