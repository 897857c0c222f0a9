#include "clock/dejitter.hpp"

#include <algorithm>
#include <cmath>

namespace rivulet::clock {

dejitter::dejitter(double nominal_rate_hz, dejitter_options options) {
    if (!(nominal_rate_hz > 0))
        return;
    period_ = 1 / nominal_rate_hz;
    forget_ = std::exp2(-period_ / options.half_life_s);
    gap_ = std::max(options.gap_s, options.gap_samples * period_);
    // What the even samples of that time say about the slope: the sum of (x - mean x) squared.
    prior_ = std::pow(options.trust_s * nominal_rate_hz, 3) / 12;
}

void dejitter::apply(std::uint64_t first_sequence, std::span<double> stamps) {
    if (period_ == 0)
        return;
    if (first_sequence != sequence_)
        restart();
    sequence_ = first_sequence + stamps.size();
    for (double& stamp : stamps)
        stamp = next(stamp);
}

void dejitter::begin(double stamp) {
    base_ = stamp;
    samples_ = 0;
    weight_ = mean_x_ = mean_y_ = xy_ = 0;
    xx_ = prior_;
}

double dejitter::next(double stamp) {
    if (!std::isfinite(stamp)) {
        restart();
        return stamp;
    }
    if (samples_ == 0)
        begin(stamp);
    mean_x_ -= 1;
    double even = base_ + static_cast<double>(samples_) * period_;
    if (samples_ != 0 && std::abs(stamp - even - (mean_y_ - xy_ / xx_ * mean_x_)) > gap_) {
        begin(stamp);
        even = stamp;
    }
    ++samples_;
    const double y = stamp - even;
    weight_ = forget_ * weight_ + 1;
    const double from_x = -mean_x_, from_y = y - mean_y_;
    mean_x_ += from_x / weight_;
    mean_y_ += from_y / weight_;
    xx_ = forget_ * xx_ + from_x * -mean_x_;
    xy_ = forget_ * xy_ + from_x * (y - mean_y_);
    return even + mean_y_ - xy_ / xx_ * mean_x_;
}

} // namespace rivulet::clock
