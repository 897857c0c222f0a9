#include "bench/plan.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace rivulet::tools::bench {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// What the sender used beyond what pacing alone does.
void subtract_pacing(const group& cells, std::vector<row>& rows) {
    const auto pacing = std::ranges::find(cells, true, &cell::pacing);
    for (row& r : rows) {
        const auto own = r.metrics.find("sender_cpu_us");
        if (own == r.metrics.end())
            continue;
        series net;
        for (std::size_t i = 0; i < own->second.values().size(); ++i) {
            double value = own->second.values()[i];
            if (pacing != cells.end())
                value -= rows[static_cast<std::size_t>(pacing - cells.begin())].metrics.at("sender_cpu_us").values()[i];
            net.add(std::max(value, 0.0));
        }
        r.metrics["sender_net_cpu_us"] = std::move(net);
    }
}

void compare(const group& cells, const std::vector<comparison>& comparisons, std::vector<row>& rows) {
    for (std::size_t k = 0; k < cells.size(); ++k) {
        if (!cells[k].baseline)
            continue;
        const auto& theirs = rows[*cells[k].baseline].metrics;
        auto& ours = rows[k].metrics;
        for (const auto& [ratio, metric] : comparisons) {
            const auto mine = ours.find(metric);
            const auto base = theirs.find(metric);
            if (mine == ours.end() || base == theirs.end())
                continue;
            series ratios;
            for (std::size_t i = 0; i < std::min(mine->second.values().size(), base->second.values().size()); ++i)
                if (base->second.values()[i] > 0)
                    ratios.add(mine->second.values()[i] / base->second.values()[i]);
            if (!ratios.values().empty())
                ours[ratio] = std::move(ratios);
        }
    }
}

} // namespace

double series::median() const {
    if (values_.empty())
        return none;
    std::vector<double> sorted = values_;
    std::ranges::sort(sorted);
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
double series::min() const { return values_.empty() ? none : *std::ranges::min_element(values_); }
double series::max() const { return values_.empty() ? none : *std::ranges::max_element(values_); }

std::string row::id() const { return fmt::format("{}", fmt::join(labels, "/")); }

std::vector<row> run_group(const group& cells, const std::vector<comparison>& comparisons, std::uint64_t runs,
                           const std::function<void(const cell&, std::uint64_t)>& progress) {
    std::vector<row> rows;
    for (const cell& c : cells)
        rows.push_back({c.labels, {}});
    for (std::uint64_t run = 0; run < runs; ++run)
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t k = (i + run) % cells.size();
            progress(cells[k], run);
            for (const auto& [name, value] : cells[k].measure())
                rows[k].metrics[name].add(value);
        }
    for (std::size_t k = 0; k < cells.size(); ++k)
        if (cells[k].count)
            for (const auto& [name, value] : cells[k].count())
                rows[k].metrics[name].add(value);
    subtract_pacing(cells, rows);
    compare(cells, comparisons, rows);
    return rows;
}

} // namespace rivulet::tools::bench
