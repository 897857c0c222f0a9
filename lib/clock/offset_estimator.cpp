#include "clock/offset_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rivulet::clock {
namespace {

bool possible(const probe& p, double resolution) {
    const bool finite = std::isfinite(p.t1) && std::isfinite(p.t2) && std::isfinite(p.t3) && std::isfinite(p.t4);
    return finite && p.t4 >= p.t1 && p.t3 >= p.t2 && p.rtt() >= -2 * resolution;
}

} // namespace

offset_estimator::offset_estimator(estimator_options options) : options_(options), drift_error_(options.max_drift) {}

std::optional<offset_estimator::bounds> offset_estimator::bounds_of(std::span<const probe> burst, double& rtt) {
    const probe* best = nullptr;
    for (const probe& p : burst) {
        if (!possible(p, options_.clock_resolution))
            ++rejected_;
        else if (!best || p.rtt() < best->rtt())
            best = &p;
    }
    if (!best)
        return std::nullopt;
    rtt = std::max(best->rtt(), 0.0);
    bounds all{best->local(), -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (const probe& p : burst) {
        if (!possible(p, options_.clock_resolution))
            continue;
        all.low = std::max(all.low, p.t1 - p.t2 - options_.max_drift * std::abs(p.t1 - all.at));
        all.high = std::min(all.high, p.t4 - p.t3 + options_.max_drift * std::abs(p.t4 - all.at));
    }
    all.low -= options_.clock_resolution;
    all.high += options_.clock_resolution;
    // The clock was reset within the burst: what its best probe says, and the next burst will tell.
    if (all.empty())
        all = {all.at, best->t1 - best->t2 - options_.clock_resolution,
               best->t4 - best->t3 + options_.clock_resolution};
    return all;
}

bool offset_estimator::add(std::span<const probe> burst) {
    const std::optional<bounds> now = bounds_of(burst, rtt_);
    if (!now)
        return false;
    const bool reset = !history_.empty() && contradicts(*now);
    if (reset) {
        restart();
        ++resets_;
    }
    history_.push_back(*now);
    if (history_.size() > options_.bursts)
        history_.pop_front();
    // Bursts that no line unites any more: the oldest say least about now.
    while (!fit_drift() || bounds_at(now->at).empty())
        history_.pop_front();

    records_.push_back({bursts_++, now->at, now->middle(), now->half(), rtt_, reset});
    if (records_.size() > options_.records)
        records_.pop_front();
    return true;
}

/// A clock that only began to run at another rate is no contradiction, but the line before does not hold any more.
bool offset_estimator::contradicts(const bounds& now) {
    const bounds expected = bounds_at(now.at);
    if (now.low <= expected.high && now.high >= expected.low)
        return false;
    const bounds last = history_.back();
    const double allowance = options_.max_drift * std::abs(now.at - last.at);
    if (now.low > last.high + allowance || now.high < last.low - allowance)
        return true;
    history_ = {last};
    return false;
}

double offset_estimator::weight_of(const bounds& b) {
    const double half = std::max(b.half(), 1e-9);
    return 1 / (half * half);
}

/// The line through the middles, as far as the bounds of each two bursts allow; and how far off it may be.
bool offset_estimator::fit_drift() {
    drift_ = 0;
    drift_error_ = options_.max_drift;
    double steepest = options_.max_drift, flattest = -options_.max_drift;
    double weights = 0, mean_at = 0, mean_middle = 0;
    for (auto i = history_.begin(); i != history_.end(); ++i) {
        const double weight = weight_of(*i);
        weights += weight;
        mean_at += (i->at - mean_at) * weight / weights;
        mean_middle += (i->middle() - mean_middle) * weight / weights;
        for (auto j = history_.begin(); j != i; ++j) {
            const double span = i->at - j->at;
            if (span <= 0)
                continue;
            steepest = std::min(steepest, (i->high - j->low) / span + options_.max_wander);
            flattest = std::max(flattest, (i->low - j->high) / span - options_.max_wander);
        }
    }
    double squares = 0, products = 0;
    for (const bounds& b : history_) {
        const double weight = weight_of(b);
        squares += weight * (b.at - mean_at) * (b.at - mean_at);
        products += weight * (b.at - mean_at) * (b.middle() - mean_middle);
    }
    if (flattest > steepest)
        return false;
    if (squares <= 0)
        return true;
    drift_ = std::clamp(products / squares, flattest, steepest);
    drift_error_ = std::min(options_.max_drift, std::max(steepest - drift_, drift_ - flattest) + options_.max_wander);
    return true;
}

offset_estimator::bounds offset_estimator::bounds_at(double when) const {
    bounds all{when, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (const bounds& b : history_) {
        const double moved = drift_ * (when - b.at);
        const double allowance = drift_error_ * std::abs(when - b.at);
        all.low = std::max(all.low, b.low + moved - allowance);
        all.high = std::min(all.high, b.high + moved + allowance);
    }
    return all;
}

std::optional<offset_estimate> offset_estimator::estimate(double local_now) const {
    if (history_.empty())
        return std::nullopt;
    const bounds now = bounds_at(local_now);
    return offset_estimate{now.middle(), std::abs(now.half()), rtt_, drift_, local_now, resets_};
}

std::vector<clock_record> offset_estimator::records(std::uint64_t from) const {
    const auto first = std::ranges::lower_bound(records_, from, {}, &clock_record::number);
    return {first, records_.end()};
}

void offset_estimator::restart() {
    history_.clear();
    drift_ = 0;
    drift_error_ = options_.max_drift;
}

} // namespace rivulet::clock
