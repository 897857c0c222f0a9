#pragma once

#include "keygen/options.hpp"

namespace rivulet::tools {

/// Runs stream-keygen; returns its exit code. @throws what run_tool turns into one.
int make_keys(const keygen_options& options);

} // namespace rivulet::tools
