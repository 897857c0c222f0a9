#pragma once

#include "bench/work.hpp"
#include "bench/worker.hpp"
#include "common/stop_signal.hpp"

#include <rivulet/config.hpp>

#include <string>

namespace rivulet::tools::bench {

/// Where measurements make their sockets, and what they take from the configuration.
struct surroundings {
    const stop_signal& stop;
    config settings;
    std::string folder; ///< short, of this run
};

/// Does the work in processes of its own. Found: chunks, samples, push_seconds, pushed_per_s, delivered, lost,
/// per_s (samples delivered a second, the slowest consumer's), mb_per_s (payload likewise, 10^6 bytes); sender_ and
/// receiver_ (mean of the consumers) cpu_us, waits, preempted, allocations, calls: all per chunk, and with _per_mb per
/// 10^6 bytes of payload; rss_mb (peak); push_*_us; latency_*_us.
/// @throws std::runtime_error, interrupted.
findings transfer(const work& w, const surroundings& around);

} // namespace rivulet::tools::bench
