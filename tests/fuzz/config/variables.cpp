#include "fuzz_target.hpp"
#include "settings_as_toml.hpp"

#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

using namespace rivulet;
using fuzz::require;

/// Each line is a variable: NAME=VALUE.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    environment variables;
    for (std::string_view text = fuzz::as_text(data, size); !text.empty();) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto equals = line.find('=');
        if (equals != std::string_view::npos)
            variables.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
    config values;
    try {
        values = load_config("/dev/null", variables);
    } catch (const error& e) {
        require(e.code() == errc::bad_config, "bad settings are called that");
        fuzz::count(false);
        return 0;
    }
    fuzz::count(true);
    validate(values);
    require(parse_config(fuzz::settings_as_toml(values), "again.toml") == values, "what is written again is the same");
    return 0;
}
