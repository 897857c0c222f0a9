#pragma once

#include "common/sample_source.hpp"

#include <cstdint>
#include <vector>

namespace rivulet::tools {

enum class signal_shape { sine, square, sawtooth, noise, counter };

/// Makes samples that depend on nothing but their index, so that a consumer can check them.
/// counter: sample i carries i in every channel (integers wrap; strings and blobs get its decimal digits; float32 is
/// exact below 2^24). sine, square, sawtooth: channel c has 1 + c % 8 periods a second, or per 100 samples of an
/// irregular stream, and at least four samples a period. noise: uniform, from the seed. The amplitude is 1, for integer
/// formats 100.
class generator final : public sample_source {
public:
    /// @throws rivulet::error invalid_argument: a shape other than counter for strings or blobs.
    generator(const stream_info& info, signal_shape shape, std::uint64_t seed);
    bool next(std::size_t max_samples, batch& out) override;

private:
    template<class T>
    void fill(std::size_t samples, T* values);
    double wave(std::uint64_t sample, std::size_t channel) const;

    channel_format format_;
    std::size_t channels_;
    signal_shape shape_;
    std::uint64_t seed_;
    std::uint64_t next_ = 0;
    std::vector<std::uint64_t> steps_; ///< a channel's phase per sample; 2^64 is a period
    std::vector<double> table_;        ///< one period
};

} // namespace rivulet::tools
