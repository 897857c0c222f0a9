#include "bench/requirement.hpp"

#include "common/cli.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

namespace rivulet::tools::bench {

requirement parse_requirement(const std::string& text) {
    requirement r{text, "*", "", true, 0};
    const auto sign = text.find_first_of("<>");
    const auto value = sign != std::string::npos && text.substr(sign + 1).starts_with('=')
                           ? parse_number<double>(text.substr(sign + 2))
                           : std::nullopt;
    if (value) {
        r.at_most = text[sign] == '<';
        r.limit = *value;
        r.ratio = text.substr(0, sign);
        if (const auto colon = r.ratio.rfind(':'); colon != std::string::npos) {
            r.rows = r.ratio.substr(0, colon);
            r.ratio.erase(0, colon + 1);
        }
    }
    if (!value || !r.ratio.ends_with("_ratio"))
        throw usage_error(
            fmt::format("--require: '{}' will not do, needed is [ROWS:]RATIO<=LIMIT or >=LIMIT with a ratio "
                        "of the result, as in '*/sync/*:cpu_ratio<=1.25'",
                        text));
    return r;
}

std::vector<std::string> broken_requirements(const std::vector<requirement>& wanted, const std::vector<row>& rows) {
    std::vector<std::string> broken;
    for (const requirement& want : wanted) {
        bool met_any = false;
        for (const row& r : rows) {
            const auto found = r.metrics.find(want.ratio);
            if (found == r.metrics.end() || ::fnmatch(want.rows.c_str(), r.id().c_str(), 0) != 0)
                continue;
            met_any = true;
            const double value = found->second.median();
            if (want.at_most ? value > want.limit : value < want.limit)
                broken.push_back(fmt::format("{}: {} is {:.3g} ({:.3g}..{:.3g}), required is {} {:g}", r.id(),
                                             want.ratio, value, found->second.min(), found->second.max(),
                                             want.at_most ? "at most" : "at least", want.limit));
        }
        if (!met_any)
            broken.push_back(fmt::format("{}: no row of the result has this", want.text));
    }
    return broken;
}

} // namespace rivulet::tools::bench
