#pragma once

#include "common/batch.hpp"
#include "common/csv.hpp"

#include <rivulet/stream_info.hpp>

#include <cstddef>

namespace rivulet::tools {

/// Where stream-pub gets its samples from.
class sample_source {
public:
    virtual ~sample_source() = default;
    /// Replaces `out` by 1..max_samples samples: what there is, waiting only for the first. A replayed capture gives
    /// its own chunks whatever max_samples says. False: there are no more, or a stop was asked for.
    /// @throws bad_input naming the place; std::system_error.
    virtual bool next(std::size_t max_samples, batch& out) = 0;
};

} // namespace rivulet::tools
