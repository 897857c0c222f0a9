#pragma once

#include <rivulet/context.hpp>
#include <rivulet/export.hpp>
#include <rivulet/outlet.hpp>
#include <rivulet/resolver.hpp>
#include <rivulet/stream_info.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <vector>

/// What outlets that were found tell when they are asked, without an inlet. Threads: any, but not a callback on the I/O
/// thread, which would have to bring the answers.
namespace rivulet {

/// Their whole descriptions, with the metadata that beacons have no room for. All are asked at once.
/// @return one a stream, in their order; nothing for those that did not answer in time.
/// @throws error invalid_argument: called on the I/O thread.
RIVULET_API std::vector<std::optional<stream_info>> ask_info(std::span<const found_stream> streams,
                                                             std::chrono::nanoseconds timeout,
                                                             const std::optional<context>& ctx = std::nullopt);

/// Their counters, likewise.
RIVULET_API std::vector<std::optional<outlet_stats>> ask_stats(std::span<const found_stream> streams,
                                                               std::chrono::nanoseconds timeout,
                                                               const std::optional<context>& ctx = std::nullopt);

} // namespace rivulet
