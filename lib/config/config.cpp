#include <rivulet/config.hpp>

#include "config/keys.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rivulet {

std::chrono::nanoseconds config::effective_send_timeout() const noexcept {
    const std::chrono::milliseconds limit = tuning.send_timeout.value_or(tuning.watchdog);
    return limit.count() == 0 ? forever : std::chrono::nanoseconds(limit);
}

void validate(const config& values) {
    std::vector<std::string> findings;
    for (const settings::key& key : settings::keys())
        if (const std::string complaint = key.check(values); !complaint.empty())
            findings.push_back(fmt::format("{}: {}", key.where(), complaint));
    if (findings.empty())
        for (const settings::conflict& conflict : settings::conflicts(values))
            findings.push_back(fmt::format("{}: {}", conflict.first->where(), conflict.what));
    if (!findings.empty())
        throw error(errc::bad_config, fmt::format("{}", fmt::join(findings, "\n")));
}

std::string default_config_text() {
    const config defaults;
    config shown; // what unset keys come to
    shown.tuning.send_timeout = shown.tuning.watchdog;
    std::string text =
        R"(# Rivulet's settings, each with its default. Copy what you change: a key that is left out keeps its default.
#
# Read from the file that --config or RIVULET_CONFIG names, else from the first of ./rivulet.toml,
# ~/.config/rivulet/rivulet.toml and /etc/rivulet/rivulet.toml that exists. What counts, first to last: a flag or an
# option in code, the environment variable named with each key, this file, the default.
#
# Durations are text with a unit: "200ms", "15s", "2min", "1h". Sizes are in bytes. An unknown key is an error.
)";
    for (const settings::section& section : settings::sections()) {
        text += fmt::format("\n# {}\n[{}]\n", section.help, section.name);
        for (const settings::key& key : settings::keys()) {
            if (key.section != section.name)
                continue;
            text += fmt::format("\n# {}\n# Allowed: {}. Variable: {}\n", key.help, key.allowed, key.variable);
            const bool unset = key.literal(defaults).empty();
            text += fmt::format("{}{} = {}\n", unset ? "# " : "", key.name, key.literal(shown));
        }
    }
    return text;
}

} // namespace rivulet
