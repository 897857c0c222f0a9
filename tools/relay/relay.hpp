#pragma once

#include "relay/options.hpp"

namespace rivulet::tools {

/// Runs stream-relay to its end; returns its exit code. @throws what run_tool turns into one.
int relay_streams(const relay_options& options);

} // namespace rivulet::tools
