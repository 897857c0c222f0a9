#pragma once

#include "bench/plan.hpp"

#include <string>
#include <vector>

namespace rivulet::tools::bench {

/// A limit that results must keep: "[ROWS:]RATIO<=LIMIT" or ">=", ROWS being a pattern (* and ?) for the labels of a
/// row with slashes in between. Ratios only: absolute figures depend on the machine.
struct requirement {
    std::string text; ///< as given
    std::string rows; ///< "*" when not given
    std::string ratio;
    bool at_most = true;
    double limit = 0;
};

/// @throws usage_error: what is wrong, what is allowed.
requirement parse_requirement(const std::string& text);

/// What is not kept, a line each: rows beyond the limit, requirements that no row has. The median of the runs counts.
std::vector<std::string> broken_requirements(const std::vector<requirement>& wanted, const std::vector<row>& rows);

} // namespace rivulet::tools::bench
