#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rivulet::clock {

struct dejitter_options {
    double half_life_s = 90; ///< a sample so long ago weighs half as much as the newest
    double trust_s = 1; ///< so much even data would have to say otherwise before the nominal rate is doubted by half
    double gap_s = 1;   ///< a stamp further than this, ...
    double gap_samples = 500; ///< ... and than so many samples, from where it was expected begins anew
};

/// Smooths the stamps of a stream of regular rate: its samples were taken evenly, whenever their stamps were.
///
/// Each stamp is replaced by the line through all stamps so far, at the sample's number: recursive least squares with
/// exponential forgetting (S. Haykin, Adaptive Filter Theory, 5th edition, chapter 10; lab
/// streaming layer uses it for the same purpose, with the same half-life, and pyxdf defines gaps this way). The sums
/// are kept relative to the newest sample and the nominal rate, in place of a covariance matrix that grows with the
/// sample's number: the same line, but numbers stay small however long it runs. What all stamps have in common, such as
/// the mean delay from a sample to its stamp, stays in. Threads: one at a time.
class dejitter {
public:
    /// @param nominal_rate_hz 0 = irregular: stamps are left as they are.
    explicit dejitter(double nominal_rate_hz, dejitter_options options = {});

    /// Replaces the stamps of consecutive samples. A sequence number that does not follow the one before begins anew.
    void apply(std::uint64_t first_sequence, std::span<double> stamps);

    /// The next sample has nothing to do with those before: after a reset of the clock, a flush, a new segment.
    void restart() noexcept { samples_ = 0; }

private:
    double next(double stamp);
    void begin(double stamp);

    double period_ = 0;
    double forget_ = 1;
    double gap_ = 0;
    double prior_ = 0;

    std::uint64_t sequence_ = 0; ///< expected
    std::uint64_t samples_ = 0;  ///< since base_
    double base_ = 0;            ///< stamp of sample 0
    /// Weighted sums over x = number counted back from the newest sample, y = stamp - (base_ + number * period_).
    double weight_ = 0, mean_x_ = 0, mean_y_ = 0, xx_ = 0, xy_ = 0;
};

} // namespace rivulet::clock
