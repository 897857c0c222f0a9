#pragma once

#include "bench/options.hpp"
#include "bench/plan.hpp"
#include "bench/transfer.hpp"

/// What each subcommand measures. The plans refer to `around`, which must outlive them.
namespace rivulet::tools::bench {

plan raw_plan(const bench_options& o, const surroundings& around);
plan matrix_plan(const bench_options& o, const surroundings& around);
plan latency_plan(const bench_options& o, const surroundings& around);
plan throughput_plan(const bench_options& o, const surroundings& around);
plan capacity_plan(const bench_options& o, const surroundings& around);
plan loop_plan(const bench_options& o, const surroundings& around);
plan queue_plan(const bench_options& o, const surroundings& around);
plan scale_plan(const bench_options& o, const surroundings& around);
plan encoding_plan(const bench_options& o, const surroundings& around);

} // namespace rivulet::tools::bench
