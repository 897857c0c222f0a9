#pragma once

#include "bench/worker.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What a subcommand measures, what came of it, and how that is shown.
namespace rivulet::tools::bench {

/// One line of the result: something measured once a run.
struct cell {
    std::vector<std::string> labels;       ///< the values of plan::label_names
    std::function<findings()> measure;     ///< one run
    std::function<findings()> count{};     ///< once, after the runs: what would disturb them; may be empty
    std::optional<std::size_t> baseline{}; ///< the cell of this group that it is compared with
    bool pacing = false;                   ///< its sender's CPU is subtracted from that of the others in the group
};

/// Cells whose runs are interleaved, because they are compared.
using group = std::vector<cell>;

/// A column of the table.
struct column {
    const char* metric; ///< a name in findings, or of a ratio
    const char* title;
    double scale = 1;    ///< shown is the value times this
    int digits = 3;      ///< significant ones
    bool spread = false; ///< with (min..max) of the runs
};

/// `ratio` = `metric` of a cell / that of its baseline, run by run.
struct comparison {
    const char* ratio; ///< ends in _ratio
    const char* metric;
};

struct plan {
    std::string name; ///< the subcommand
    std::vector<std::string> label_names;
    std::vector<column> columns;
    std::vector<comparison> comparisons;
    std::vector<group> groups;
    std::vector<std::string> notes; ///< shown below the table
};

/// The values of all runs.
class series {
public:
    void add(double value) { values_.push_back(value); }
    const std::vector<double>& values() const noexcept { return values_; }
    /// NaN when there are none, as the others.
    double median() const;
    double min() const;
    double max() const;

private:
    std::vector<double> values_;
};

struct row {
    std::vector<std::string> labels;
    std::map<std::string, series> metrics;

    /// The labels with slashes in between.
    std::string id() const;
};

/// Runs one group: every cell once, then every cell again, each time from another one on.
std::vector<row> run_group(const group& cells, const std::vector<comparison>& comparisons, std::uint64_t runs,
                           const std::function<void(const cell&, std::uint64_t)>& progress);

} // namespace rivulet::tools::bench
