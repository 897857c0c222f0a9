#pragma once

#include "bench/machine.hpp"
#include "bench/options.hpp"
#include "bench/transfer.hpp"

#include <vector>

namespace rivulet::tools::bench {

/// Runs every subcommand and writes into o.folder: report.md, and for each NAME.csv, NAME.json and, where gnuplot is
/// installed, plots as SVG. @return all rows. @throws as run_plan; std::system_error: a file.
std::vector<row> write_report(const bench_options& o, const surroundings& around, const machine& m);

} // namespace rivulet::tools::bench
