#pragma once

#include "common/cli.hpp"
#include "common/selection.hpp"

#include <cstdint>
#include <optional>
#include <variant>

namespace rivulet::tools {

/// The command line of stream-ls.
struct ls_options {
    common_options common;
    selection wanted;

    std::optional<std::uint64_t> minimum;
    std::optional<double> timeout_s; ///< 0 = for ever
    bool watch = false;
    bool json = false;
    bool quiet = false;
    bool metadata = false;
    bool stats = false;
};

/// Options to run with, or the exit code to end with at once.
std::variant<ls_options, int> parse_ls_options(int argc, const char* const* argv);

} // namespace rivulet::tools
