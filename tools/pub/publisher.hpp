#pragma once

#include "pub/options.hpp"

namespace rivulet::tools {

/// Runs stream-pub to its end; returns its exit code. @throws what run_tool turns into one.
int publish(const pub_options& options);

} // namespace rivulet::tools
