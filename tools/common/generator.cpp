#include "common/generator.hpp"

#include "common/numbers.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace rivulet::tools {
namespace {

constexpr unsigned table_bits = 14;

std::vector<double> one_period(signal_shape shape) {
    constexpr std::size_t size = std::size_t{1} << table_bits;
    std::vector<double> table(size);
    for (std::size_t i = 0; i < size; ++i) {
        const double phase = static_cast<double>(i) / size;
        switch (shape) {
        case signal_shape::sine: table[i] = std::sin(2 * std::numbers::pi * phase); break;
        case signal_shape::square: table[i] = phase < 0.5 ? 1 : -1; break;
        default: table[i] = 2 * phase - 1; break;
        }
    }
    return table;
}

/// splitmix64: good bits from a counter, so that a value depends on its place only.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

} // namespace

generator::generator(const stream_info& info, signal_shape shape, std::uint64_t seed)
    : format_(info.format), channels_(static_cast<std::size_t>(info.channel_count)), shape_(shape), seed_(seed) {
    if (shape == signal_shape::counter)
        return;
    if (!is_fixed_size(format_))
        throw error(errc::invalid_argument, "--signal: strings and blobs can only be a counter");
    if (shape == signal_shape::noise)
        return;
    table_ = one_period(shape);
    for (std::size_t c = 0; c < channels_; ++c) {
        const double periods = static_cast<double>(1 + c % 8);
        const double length = info.nominal_rate_hz > 0 ? info.nominal_rate_hz / periods : 100 / periods;
        steps_.push_back(static_cast<std::uint64_t>(std::ldexp(1.0, 64) / std::max(length, 4.0)));
    }
}

double generator::wave(std::uint64_t sample, std::size_t channel) const {
    if (shape_ == signal_shape::noise)
        return std::ldexp(static_cast<double>(mix(seed_ ^ mix(sample * channels_ + channel)) >> 11), -52) - 1.0;
    return table_[sample * steps_[channel] >> (64 - table_bits)];
}

template<class T>
void generator::fill(std::size_t samples, T* values) {
    for (std::uint64_t i = next_; i < next_ + samples; ++i) {
        if (shape_ == signal_shape::counter) {
            std::fill_n(values, channels_, static_cast<T>(i));
        } else {
            for (std::size_t c = 0; c < channels_; ++c) {
                if constexpr (std::is_integral_v<T>)
                    values[c] = static_cast<T>(std::lround(100 * wave(i, c)));
                else
                    values[c] = static_cast<T>(wave(i, c));
            }
        }
        values += channels_;
    }
}

bool generator::next(std::size_t max_samples, batch& out) {
    out.samples = max_samples;
    out.stamps.clear();
    if (is_fixed_size(format_)) {
        out.values.resize(max_samples * channels_ * value_bytes(format_));
        with_value_type(format_, [&]<class T>(T) { fill(max_samples, reinterpret_cast<T*>(out.values.data())); });
    } else {
        out.texts.resize(max_samples * channels_);
        for (std::size_t i = 0; i < out.texts.size(); ++i) {
            out.texts[i].clear();
            append_number(out.texts[i], next_ + i / channels_);
        }
    }
    next_ += max_samples;
    return true;
}

} // namespace rivulet::tools
