#pragma once

#include "bench/options.hpp"
#include "bench/plan.hpp"
#include "bench/work.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rivulet::tools::bench {

/// Builds the group of one link: its plain loops, then ours, each compared with its own plain loop.
class group_builder {
public:
    using measurement = std::function<findings(const work&)>;

    /// @param count what is counted once beside `measure`, where there is something to count; may be empty.
    /// @param more_labels those after link and way.
    group_builder(measurement measure, measurement count, std::vector<std::string> more_labels)
        : measure_(std::move(measure)), count_(std::move(count)), more_labels_(std::move(more_labels)) {}

    void add_ours(const work& w, const mode& m) {
        work ours = w;
        ours.how = m.how;
        if (m.spin)
            ours.busy_poll = std::chrono::milliseconds(2);
        std::optional<std::size_t> base;
        if (w.consumers > 0)
            base = plain(w, baseline_of(m.how, w.over));
        add(ours, to_string(m), base);
    }
    /// The cell of a plain loop; made at its first use.
    std::size_t plain(const work& w, way how) {
        for (std::size_t i = 0; i < cells_.size(); ++i)
            if (cells_[i].labels[1] == to_string(how))
                return i;
        work loop = w;
        loop.how = how;
        return add(loop, to_string(how), std::nullopt);
    }
    std::size_t add(const work& w, const std::string& name, std::optional<std::size_t> baseline) {
        cell c;
        c.labels = {to_string(w.over), name};
        c.labels.insert(c.labels.end(), more_labels_.begin(), more_labels_.end());
        c.measure = [w, measure = measure_] { return measure(w); };
        if (count_ && w.consumers > 0 && w.how != way::nothing && w.how != way::plain_batched)
            c.count = [w, count = count_] { return count(w); };
        c.baseline = baseline;
        c.pacing = w.how == way::nothing;
        cells_.push_back(std::move(c));
        return cells_.size() - 1;
    }
    group take() { return std::move(cells_); }

private:
    measurement measure_, count_;
    std::vector<std::string> more_labels_;
    group cells_;
};

} // namespace rivulet::tools::bench
