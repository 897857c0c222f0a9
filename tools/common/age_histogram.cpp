#include "common/age_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rivulet::tools {

/// Values below 2^sub_bits have a bucket each, every power of two above has 2^sub_bits of them.
std::size_t age_histogram::bucket(std::uint64_t ns) noexcept {
    const unsigned width = static_cast<unsigned>(std::bit_width(ns));
    if (width <= sub_bits)
        return static_cast<std::size_t>(ns);
    const unsigned shift = width - sub_bits - 1;
    const std::uint64_t within = (ns >> shift) - (std::uint64_t{1} << sub_bits);
    return ((static_cast<std::size_t>(shift) + 1) << sub_bits) + static_cast<std::size_t>(within);
}

double age_histogram::upper_ns(std::size_t bucket) noexcept {
    const std::size_t row = bucket >> sub_bits;
    if (row == 0)
        return static_cast<double>(bucket);
    const std::size_t within = (bucket & ((std::size_t{1} << sub_bits) - 1)) + (std::size_t{1} << sub_bits);
    return std::ldexp(static_cast<double>(within + 1), static_cast<int>(row) - 1);
}

void age_histogram::add(double seconds, std::uint64_t sequence) {
    constexpr double longest = 9e9; // seconds; in ns it still fits
    const double clamped = std::isfinite(seconds) ? std::clamp(seconds, -longest, longest) : 0;
    ++buckets_[bucket(static_cast<std::uint64_t>(std::max(clamped, 0.0) * 1e9))];
    const double ms = clamped * 1e3;
    ++classes_[ms <= 0.5 ? 0 : ms <= 1 ? 1 : ms <= 5 ? 2 : ms <= 10 ? 3 : 4];
    sum_ += clamped;
    if (count_ == 0 || clamped > max_) {
        max_ = clamped;
        max_at_ = sequence;
    }
    ++count_;
}

double age_histogram::percentile_ms(double fraction) const {
    if (count_ == 0)
        return 0;
    const auto rank = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= std::max<std::uint64_t>(rank, 1))
            return std::min(upper_ns(i) * 1e-6, max_ms());
    }
    return max_ms();
}

} // namespace rivulet::tools
