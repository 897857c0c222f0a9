#pragma once

#include "ls/options.hpp"

namespace rivulet::tools {

/// Runs stream-ls to its end; returns its exit code. @throws what run_tool turns into one.
int list(const ls_options& options);

} // namespace rivulet::tools
