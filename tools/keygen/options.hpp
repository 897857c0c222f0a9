#pragma once

#include "common/cli.hpp"

#include <string>
#include <variant>

namespace rivulet::tools {

/// The command line of stream-keygen.
struct keygen_options {
    std::string name; ///< of the files, without their endings; with `show` a whole file name
    bool session = false;
    bool show = false;
    bool json = false;
};

/// Options to run with, or the exit code to end with at once.
std::variant<keygen_options, int> parse_keygen_options(int argc, const char* const* argv);

} // namespace rivulet::tools
