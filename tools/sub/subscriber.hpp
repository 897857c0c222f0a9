#pragma once

#include "sub/options.hpp"

namespace rivulet::tools {

/// Runs stream-sub to its end; returns its exit code. @throws what run_tool turns into one.
int subscribe(const sub_options& options);

} // namespace rivulet::tools
