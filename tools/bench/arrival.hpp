#pragma once

#include <cstdint>

namespace rivulet::tools::bench {

/// What one call of a receiver got: something from one stream.
struct arrival {
    std::uint64_t samples = 0;
    std::uint64_t lost = 0; ///< missing just before
    double stamp = 0;       ///< of the last sample
    bool ended = false;     ///< all streams have ended
};

} // namespace rivulet::tools::bench
