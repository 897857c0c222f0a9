#pragma once

#include "waiting.hpp"

#include <rivulet/rivulet.hpp>

#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

/// A stream whose samples carry their own sequence number, pushed and pulled in step.
namespace rivulet::support {

inline constexpr std::uint64_t chunk_samples = 8192; ///< 64 KiB

inline outlet serve_counter(const std::string& endpoint, outlet_options options = {}) {
    options.endpoints = {endpoint};
    return outlet({.name = "counter", .format = channel_format::int64}, std::move(options));
}

/// Pushes one chunk and pulls it from each inlet: they must get exactly that.
inline void push_and_pull(outlet& out, std::uint64_t& pushed, std::initializer_list<inlet*> inlets,
                          std::uint64_t samples = chunk_samples) {
    std::vector<std::int64_t> chunk(samples), values;
    std::iota(chunk.begin(), chunk.end(), static_cast<std::int64_t>(pushed));
    out.push_chunk(chunk);
    for (inlet* const in : inlets) {
        std::vector<std::int64_t> all;
        std::vector<double> stamps;
        while (all.size() < chunk.size()) {
            const pull_result got = in->pull_chunk(values, stamps, waiting::patience, chunk.size() - all.size());
            ASSERT_TRUE(got) << "nothing more after sample " << pushed + all.size();
            ASSERT_EQ(got.lost_before, 0u) << "before sample " << got.first_sequence;
            all.insert(all.end(), values.begin(), values.end());
        }
        ASSERT_TRUE(all == chunk) << "in the chunk from sample " << pushed << " on";
    }
    pushed += samples;
}

} // namespace rivulet::support
