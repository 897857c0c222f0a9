#pragma once

#include "bench/machine.hpp"
#include "bench/plan.hpp"

#include <string>
#include <vector>

namespace rivulet::tools::bench {

/// One line about the machine.
std::string describe(const machine& m);

/// A table for people, whose rows can be printed as they come.
class text_table {
public:
    explicit text_table(const plan& p);
    std::string header() const;
    std::string line(const row& r) const;

private:
    std::vector<std::string> titles_;
    std::vector<std::size_t> widths_;
    std::size_t labels_;
    std::vector<column> columns_;
};

/// "12.3", "4.56M", with this many significant digits; "n/a" for NaN.
std::string short_number(double value, int digits);

/// One object: program, command, machine, rows with all metrics (median, min, max, runs).
std::string to_json(const plan& p, const std::vector<row>& rows, const machine& m,
                    const std::vector<std::string>& command);
/// A table and the notes below it.
std::string to_markdown(const plan& p, const std::vector<row>& rows);
/// A header, then a line a row: labels, and median, min, max of each metric.
std::string to_csv(const plan& p, const std::vector<row>& rows);

} // namespace rivulet::tools::bench
