#pragma once

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/context.hpp>
#include <rivulet/error.hpp>
#include <rivulet/options.hpp>

#include <chrono>
#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One style for the command lines of all tools, over CLI11: messages say what was given, what is allowed.
namespace rivulet::tools {

/// Thrown for a command line that parses but makes no sense; ends in exit code 2.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What every tool takes.
struct common_options {
    std::optional<std::string> config_file;
    std::optional<std::string> log_level;
    std::optional<std::string> session;
    std::vector<std::string> known_peers;
    std::vector<std::string> advertise;
    bool require_security = false;
    std::optional<std::string> secret_key, session_key;
    std::vector<std::string> server_keys, client_keys;
};

/// --help, --version, and what is shown below the help. @param examples one a line.
void set_up_help(CLI::App& app, std::string_view examples, std::string_view exit_codes);

/// The same, with --config, --log-level, and what tools on a network take besides.
void set_up_command_line(CLI::App& app, std::string_view examples, common_options& common);

/// Parses; an exit code when the tool is to end at once (0 for --help and --version, 2 for errors).
std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Loads the configuration, over which the command line goes, and sets up the log. @param auto_level what log level
/// "auto" means.
/// @throws rivulet::error bad_config.
config load_settings(const common_options& common, std::string_view program, std::string_view auto_level = "info");
/// The same, and makes a context of it.
context make_context(const common_options& common, std::string_view program);

/// Runs a tool: what it throws becomes a message on stderr and an exit code.
int run_tool(std::string_view program, const std::function<int()>& body);
/// The exit code of an error of the library: usage for what the command line said, failed for the rest.
int exit_code_of(const error& e) noexcept;

namespace detail {

[[noreturn]] void refuse(const std::string& flag, const std::string& text, const std::string& wanted);
std::string number_range(double min, double max);
std::string list_of(const std::vector<std::string>& names);
double parse_bounded(const std::string& flag, const std::string& text, double min, double max);
std::uint64_t parse_bounded_integer(const std::string& flag, const std::string& text, std::uint64_t min,
                                    std::uint64_t max);

} // namespace detail

/// A number in [min, max]; T is double or an optional of it.
template<class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, T& target, double min, double max,
                        const std::string& type, const std::string& help) {
    return app
        .add_option_function<std::string>(
            flag, [=, &target](const std::string& text) { target = detail::parse_bounded(flag, text, min, max); }, help)
        ->type_name(type);
}

/// A whole number in [min, max]; T is std::uint64_t or an optional of it.
template<class T>
CLI::Option* add_integer(CLI::App& app, const std::string& flag, T& target, std::uint64_t min, std::uint64_t max,
                         const std::string& type, const std::string& help) {
    return app
        .add_option_function<std::string>(
            flag,
            [=, &target](const std::string& text) { target = detail::parse_bounded_integer(flag, text, min, max); },
            help)
        ->type_name(type);
}

/// One of a few names; T takes the value that belongs to it.
template<class T, class V>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, T& target,
                        std::initializer_list<std::pair<const char*, V>> choices, const std::string& help) {
    const std::vector<std::pair<std::string, V>> table(choices.begin(), choices.end());
    std::vector<std::string> names;
    for (const auto& choice : table)
        names.push_back(choice.first);
    const auto choose = [=, &target](const std::string& text) {
        for (const auto& [name, value] : table)
            if (name == text) {
                target = value;
                return;
            }
        detail::refuse(flag, text, "one of " + detail::list_of(names));
    };
    std::string type;
    for (const auto& name : names)
        type += (type.empty() ? "" : "|") + name;
    return app.add_option_function<std::string>(flag, choose, help)->type_name(type);
}

/// "10" and "0.5" are seconds, "64MiB" bytes.
CLI::Option* add_buffer(CLI::App& app, const std::string& flag, std::optional<buffer_size>& target,
                        const std::string& help);
/// "10" seconds of an outlet's history, or "all" of it.
CLI::Option* add_history(CLI::App& app, const std::string& flag, start_at& target, const std::string& help);
/// Given once or several times, an endpoint each.
CLI::Option* add_endpoints(CLI::App& app, const std::string& flag, std::vector<std::string>& target,
                           const std::string& help);

/// Seconds as a duration; 0 is for ever where `zero_is_forever`.
std::chrono::nanoseconds to_duration(double seconds, bool zero_is_forever = false);

} // namespace rivulet::tools
