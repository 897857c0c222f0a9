#pragma once

#include "bench/worker.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace rivulet::tools::bench {

/// Durations in microseconds; beyond a million of them every second one is forgotten, and so on.
class distribution {
public:
    distribution() { values_.reserve(most); }

    void add(double microseconds) {
        if (skip_++ % every_ != 0)
            return;
        if (values_.size() == most) {
            for (std::size_t i = 0; i < most / 2; ++i)
                values_[i] = values_[2 * i];
            values_.resize(most / 2);
            every_ *= 2;
        }
        values_.push_back(static_cast<float>(microseconds));
    }
    /// prefix_mean_us, _sigma_us, _min_us, _max_us, _p50_us, _p99_us; nothing when it is empty.
    void report(const worker_link& link, const std::string& prefix) {
        if (values_.empty())
            return;
        std::ranges::sort(values_);
        double sum = 0, squares = 0;
        for (const double v : values_)
            sum += v;
        const double mean = sum / static_cast<double>(values_.size());
        for (const double v : values_)
            squares += (v - mean) * (v - mean);
        link.report(prefix + "_mean_us", mean);
        link.report(prefix + "_sigma_us", std::sqrt(squares / static_cast<double>(values_.size())));
        link.report(prefix + "_min_us", values_.front());
        link.report(prefix + "_max_us", values_.back());
        link.report(prefix + "_p50_us", values_[values_.size() / 2]);
        link.report(prefix + "_p99_us", values_[values_.size() * 99 / 100]);
    }

private:
    static constexpr std::size_t most = 1u << 20;
    std::vector<float> values_;
    std::uint64_t skip_ = 0;
    std::uint64_t every_ = 1;
};

} // namespace rivulet::tools::bench
