#pragma once

#include "bench/options.hpp"
#include "bench/plans.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rivulet::tools::bench {

/// The plan of a subcommand. @throws usage_error: there is no such one.
plan make_plan(const std::string& subcommand, const bench_options& o, const surroundings& around);
/// All subcommands that measure something, in the order of a report.
std::vector<std::string> measuring_subcommands();

/// Runs all groups of a plan, with a status line on a terminal; `on_rows` gets each group's rows when it is done.
/// @throws interrupted, std::runtime_error.
std::vector<row> run_plan(const plan& p, std::uint64_t runs,
                          const std::function<void(const std::vector<row>&)>& on_rows);

} // namespace rivulet::tools::bench
