#pragma once

#include "common/input_file.hpp"
#include "common/sample_source.hpp"
#include "pub/options.hpp"

#include <rivulet/stream_info.hpp>

#include <memory>

namespace rivulet::tools {

/// What stream-pub is going to do: options with all defaults, which depend on each other and on the input, filled in.
struct pub_plan {
    stream_info info;
    std::unique_ptr<sample_source> source;
    std::size_t chunk = 1; ///< samples a push
    double pace_hz = 0;    ///< samples a second to push; 0 = as they come
    on_full full = on_full::drop_oldest;
};

/// Opens the input and reads its header. `stop` is to outlive the plan.
/// @throws usage_error, bad_input, rivulet::error, std::system_error.
pub_plan make_plan(const pub_options& options, const stop_condition& stop);

} // namespace rivulet::tools
