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

/// One measurement of such a clock, for recorders: beside raw stamps the series of them says afterwards, with all
/// measurements at hand, what to add to a stamp of any time (`inlet::take_clock_records`, captures).
struct clock_record {
    std::uint64_t number = 0; ///< counts measurements, so that missing ones are noticed
    double local_s = 0;       ///< local_clock() when it was made
    double offset_s = 0;      ///< what to add to a stamp of that time to get local_clock()'s
    double uncertainty_s = 0; ///< the truth lay within offset_s +- this
    double rtt_s = 0;         ///< its shortest round trip
    bool reset = false;       ///< another line begins: the clock was reset since the record before, or is another one

    friend bool operator==(const clock_record&, const clock_record&) = default;
};

/// As a stamp: "take local_clock() at the call".
inline constexpr double now = -std::numeric_limits<double>::infinity();

/// As a timeout: wait without a limit.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

} // namespace rivulet
