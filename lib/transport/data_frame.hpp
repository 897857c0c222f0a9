#pragma once

#include "samples/sample_log.hpp"
#include "wire/frame.hpp"

#include <span>

namespace rivulet::transport {

/// The header of a data frame with the samples of `span`: its stamps as runs where that is shorter, else as they lie in
/// the segment; sequence numbers count from the position `base`. `store` must outlive the header.
wire::data_header describe(const samples::log_span& span, std::uint64_t base, std::size_t payload_bytes,
                           std::span<wire::stamp_run> store);

} // namespace rivulet::transport
