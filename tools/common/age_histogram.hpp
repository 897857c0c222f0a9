#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rivulet::tools {

/// How old samples were when they arrived. Constant memory; mean and maximum exact, percentiles to 1.6 %.
class age_histogram {
public:
    age_histogram() : buckets_(bucket_count) {}
    /// @param seconds may be negative where clocks differ. @param sequence of the sample.
    void add(double seconds, std::uint64_t sequence);

    std::uint64_t count() const noexcept { return count_; }
    double mean_ms() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_) * 1e3; }
    double max_ms() const noexcept { return count_ == 0 ? 0 : max_ * 1e3; }
    std::uint64_t max_at_sequence() const noexcept { return max_at_; }
    /// @param fraction 0.5 = median. At most as large as the maximum.
    double percentile_ms(double fraction) const;
    /// Counts of ages up to 0.5, 1, 5, 10 ms, and above (each only what the one before does not hold).
    const std::array<std::uint64_t, 5>& classes() const noexcept { return classes_; }

private:
    static constexpr unsigned sub_bits = 6;
    static constexpr std::size_t bucket_count = (64 - sub_bits + 1) << sub_bits;
    static std::size_t bucket(std::uint64_t ns) noexcept;
    static double upper_ns(std::size_t bucket) noexcept;

    std::vector<std::uint64_t> buckets_;
    std::array<std::uint64_t, 5> classes_{};
    std::uint64_t count_ = 0;
    double sum_ = 0;
    double max_ = 0;
    std::uint64_t max_at_ = 0;
};

} // namespace rivulet::tools
