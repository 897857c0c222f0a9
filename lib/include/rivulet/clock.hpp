#pragma once

#include <rivulet/export.hpp>

#include <chrono>
#include <cstdint>
#include <limits>

namespace rivulet {

/// Seconds on this host's CLOCK_MONOTONIC. Steps of the wall clock change nothing. Any thread.
RIVULET_API double local_clock() noexcept;

/// A stamp of this host's local clock as nanoseconds since the Unix epoch, for files and people. Uses the offset
/// between both clocks at the time of the call. Any thread.
RIVULET_API std::int64_t local_to_unix_ns(double stamp) noexcept;

/// The clock of another host, or of another time namespace of this one, as seen from here.
struct clock_offset {
    double offset_s = 0;      ///< what to add to one of its stamps to get local_clock()'s
    double uncertainty_s = 0; ///< the truth lies within offset_s +- this
    double rtt_s = 0;         ///< shortest round trip of the latest measurement
};

/// As a stamp: "take local_clock() at the call".
inline constexpr double now = -std::numeric_limits<double>::infinity();

/// As a timeout: wait without a limit.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

} // namespace rivulet
