#include "fuzz_target.hpp"
#include "settings_as_toml.hpp"

#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

using namespace rivulet;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::as_text(data, size));
    config values;
    try {
        values = parse_config(text, "lab.toml");
    } catch (const error& e) {
        require(e.code() == errc::bad_config, "a bad file is called that");
        require(std::string_view(e.what()).find("lab.toml") != std::string_view::npos ||
                    std::string_view(e.what()).find('[') != std::string_view::npos,
                "complaints name the file, or the keys");
        fuzz::count(false);
        return 0;
    }
    fuzz::count(true);
    validate(values);
    require(parse_config(fuzz::settings_as_toml(values), "again.toml") == values, "what is written again is the same");
    return 0;
}
