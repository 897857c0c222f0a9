#pragma once

#include "config/rules.hpp"

#include <rivulet/config.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::settings {

/// One key of rivulet.toml. The table of keys drives reading files and variables, checking and the default file.
struct key {
    std::string_view section;
    std::string_view name;
    std::string_view help;
    std::string allowed;  ///< the values it takes, in words
    std::string variable; ///< RIVULET_<SECTION>_<KEY>

    std::function<std::string(config&, const raw_value&)> assign; ///< "" = done; else what is wrong, what is allowed
    std::function<std::string(const config&)> check;              ///< the same for the value that is there
    std::function<std::string(const config&)> literal;            ///< the value as TOML, "" = unset

    std::string where() const; ///< "[section] key"
};

struct section {
    std::string_view name;
    std::string_view help;
};

std::span<const section> sections();
std::span<const key> keys();
/// Null where there is none.
const key* find_key(std::string_view section, std::string_view name);
std::vector<std::string_view> section_names();
std::vector<std::string_view> key_names(std::string_view section);

/// Two settings that do not go together, or (`second` null) one that is wrong in a way that its rule does not see.
struct conflict {
    const key* first;
    const key* second;
    std::string what;
};
std::vector<conflict> conflicts(const config& settings);

} // namespace rivulet::settings
