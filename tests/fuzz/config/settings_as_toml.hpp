#pragma once

#include <config/keys.hpp>

#include <string>

namespace rivulet::fuzz {

/// A configuration as a file that says all of it.
inline std::string settings_as_toml(const config& values) {
    std::string text;
    for (const settings::section& section : settings::sections()) {
        text += "[" + std::string(section.name) + "]\n";
        for (const settings::key& key : settings::keys())
            if (const std::string literal = key.literal(values); key.section == section.name && !literal.empty())
                text += std::string(key.name) + " = " + literal + "\n";
    }
    return text;
}

} // namespace rivulet::fuzz
