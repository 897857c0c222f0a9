#include "common/cli.hpp"

#include "common/exit_code.hpp"
#include "common/log.hpp"
#include "common/output_file.hpp"

#include <rivulet/version.hpp>

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <numeric>

namespace rivulet::tools {
namespace {

/// How many letters have to be changed, added or removed.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t k = 1; k <= b.size(); ++k) {
            const std::size_t change = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
            diagonal = row[k];
            row[k] = std::min({row[k] + 1, row[k - 1] + 1, change});
        }
    }
    return row[b.size()];
}

std::string nearest_option(const CLI::App& app, std::string_view given) {
    given = given.substr(0, given.find('='));
    std::string best;
    std::size_t best_distance = 4;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames())
            if (const auto distance = edit_distance(given, "--" + name); distance < best_distance) {
                best_distance = distance;
                best = "--" + name;
            }
    return best;
}

void add_security_options(CLI::App& app, common_options& common) {
    const std::string security = "Security (stream-keygen makes the files)";
    const auto add_file = [&](const std::string& flag, std::optional<std::string>& target, const std::string& help) {
        app.add_option(flag, target, help)->type_name("FILE")->group(security);
    };
    const auto add_keys = [&](const std::string& flag, std::vector<std::string>& target, const std::string& help) {
        app.add_option(flag, target, help)->type_name("KEY|FILE")->expected(1)->take_all()->group(security);
    };
    add_file("--secret-key", common.secret_key, "Own secret key: zmq links are encrypted, and both ends are checked");
    add_keys("--server-key", common.server_keys, "Public key of an outlet to connect to (repeatable)");
    add_keys("--client-key", common.client_keys, "Public key of a consumer to let in (repeatable)");
    add_file("--session-key", common.session_key, "Secret that a lab shares: beacons of others are not believed");
    app.add_flag("--require-security", common.require_security, "Whatever would be plain is an error")->group(security);
}

} // namespace

void set_up_help(CLI::App& app, std::string_view examples, std::string_view exit_codes) {
    app.set_help_flag("-h,--help", "Shows this help");
    app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), version()), "Shows the version");
    app.footer(fmt::format("\nExamples:\n{}\n\nExit codes: {}", examples, exit_codes));
    app.get_formatter()->column_width(34);
}

void set_up_command_line(CLI::App& app, std::string_view examples, common_options& common) {
    set_up_help(app, examples,
                "0 done, 1 failed, 2 usage, 3 nothing found or not connected in time, 4 data lost (--strict), 5 ended "
                "early");
    const std::string group = "General";
    app.add_option("--config", common.config_file, "Configuration file (default: RIVULET_CONFIG, ./rivulet.toml, ...)")
        ->type_name("FILE")
        ->group(group);
    add_choice<std::optional<std::string>, std::string>(app, "--log-level", common.log_level,
                                                        {{"trace", "trace"},
                                                         {"debug", "debug"},
                                                         {"info", "info"},
                                                         {"warn", "warn"},
                                                         {"error", "error"},
                                                         {"off", "off"}},
                                                        "How much is logged on stderr (default: info)")
        ->group(group);
    const std::string network = "Network";
    const auto add_list = [&](const std::string& flag, std::vector<std::string>& target, const std::string& help) {
        app.add_option(flag, target, help)->type_name("HOST")->expected(1)->take_all()->group(network);
    };
    app.add_option("--session", common.session, "Name of the lab: streams of others are not seen (default: default)")
        ->type_name("NAME")
        ->group(network);
    add_list("--known-peer", common.known_peers,
             "HOST or HOST:PORT to ask and to tell by unicast, where multicasts do not get (repeatable)");
    add_list("--advertise", common.advertise,
             "Host under which others reach this one, where its addresses would not do (repeatable)");
    add_security_options(app, common);
}

std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
    try {
        app.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::Success& e) { // --help, --version
        std::ostringstream text;
        app.exit(e, text, text);
        std::fputs(text.str().c_str(), stdout);
        std::fflush(stdout);
        return exit_done;
    } catch (const CLI::ExtrasError& e) {
        const auto extras = app.remaining();
        std::string message = fmt::format("{}: no such option: {}", app.get_name(), fmt::join(extras, " "));
        if (!extras.empty())
            if (const auto hint = nearest_option(app, extras.front()); !hint.empty())
                message += fmt::format("; did you mean {}?", hint);
        fmt::print(stderr, "{}\nTry '{} --help'.\n", message, app.get_name());
    } catch (const CLI::ParseError& e) {
        fmt::print(stderr, "{}: {}\nTry '{} --help'.\n", app.get_name(), e.what(), app.get_name());
    }
    return exit_usage;
}

config load_settings(const common_options& common, std::string_view program, std::string_view auto_level) {
    config settings = load_config(common.config_file);
    if (common.log_level)
        settings.log.level = *common.log_level;
    if (settings.log.level == "auto")
        settings.log.level = auto_level;
    if (common.session)
        settings.session.name = *common.session;
    if (!common.known_peers.empty())
        settings.discovery.known_peers = common.known_peers;
    if (!common.advertise.empty())
        settings.ports.advertise = common.advertise;
    settings.security.required |= common.require_security;
    if (common.secret_key)
        settings.security.secret_key = *common.secret_key;
    if (common.session_key)
        settings.security.session_key = *common.session_key;
    if (!common.server_keys.empty())
        settings.security.servers = common.server_keys;
    if (!common.client_keys.empty())
        settings.security.clients = common.client_keys;
    configure_log(program, settings.log.level, settings.log.format == "json");
    return settings;
}

context make_context(const common_options& common, std::string_view program) {
    return context(load_settings(common, program));
}

int exit_code_of(const error& e) noexcept {
    for (const errc code :
         {errc::invalid_argument, errc::bad_endpoint, errc::path_too_long, errc::not_supported, errc::bad_config})
        if (e.code() == code)
            return exit_usage;
    return e.code() == errc::not_connected ? exit_not_connected : exit_failed;
}

int run_tool(std::string_view program, const std::function<int()>& body) {
    const auto complain = [&](const char* what) {
        clear_status();
        fmt::print(stderr, "{}: {}\n", program, what);
    };
    try {
        return body();
    } catch (const output_closed&) {
        clear_status();
        return exit_done;
    } catch (const usage_error& e) {
        complain(e.what());
        return exit_usage;
    } catch (const error& e) {
        complain(e.what());
        return exit_code_of(e);
    } catch (const std::exception& e) {
        complain(e.what());
        return exit_failed;
    }
}

CLI::Option* add_buffer(CLI::App& app, const std::string& flag, std::optional<buffer_size>& target,
                        const std::string& help) {
    static constexpr std::pair<const char*, double> units[] = {
        {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"B", 1.0}};
    const auto parse = [flag, &target](const std::string& text) {
        for (const auto& [unit, factor] : units)
            if (text.ends_with(unit)) {
                const std::string number = text.substr(0, text.size() - std::string_view(unit).size());
                target = static_cast<std::size_t>(detail::parse_bounded(flag, number, 0, 1e6) * factor);
                return;
            }
        target = to_duration(detail::parse_bounded(flag, text, 1e-3, 1e6));
    };
    return app.add_option_function<std::string>(flag, parse, help)->type_name("S");
}

CLI::Option* add_history(CLI::App& app, const std::string& flag, start_at& target, const std::string& help) {
    const auto parse = [flag, &target](const std::string& text) {
        constexpr double unlimited = std::numeric_limits<double>::infinity();
        target = text == "all" ? start_at::all_history()
                               : start_at::last(to_duration(detail::parse_bounded(flag, text, 0, unlimited)));
    };
    return app.add_option_function<std::string>(flag, parse, help)->type_name("S|all");
}

CLI::Option* add_endpoints(CLI::App& app, const std::string& flag, std::vector<std::string>& target,
                           const std::string& help) {
    return app.add_option(flag, target, help)->type_name("ENDPOINT")->expected(1)->take_all();
}

std::chrono::nanoseconds to_duration(double seconds, bool zero_is_forever) {
    constexpr double longest = 9.2e9; // seconds that fit into 64 bits of nanoseconds
    if ((zero_is_forever && seconds == 0) || seconds >= longest)
        return forever;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

namespace detail {

void refuse(const std::string& flag, const std::string& text, const std::string& wanted) {
    throw CLI::ValidationError(flag, fmt::format("'{}' will not do, needed is {}", text, wanted));
}

std::string list_of(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string number_range(double min, double max) {
    return std::isinf(max) ? fmt::format("a number from {} on", min) : fmt::format("a number from {} to {}", min, max);
}

double parse_bounded(const std::string& flag, const std::string& text, double min, double max) {
    const auto value = parse_number<double>(text);
    if (!value || !std::isfinite(*value) || *value < min || *value > max)
        refuse(flag, text, number_range(min, max));
    return *value;
}

std::uint64_t parse_bounded_integer(const std::string& flag, const std::string& text, std::uint64_t min,
                                    std::uint64_t max) {
    const auto value = parse_number<std::uint64_t>(text);
    if (!value || *value < min || *value > max)
        refuse(flag, text,
               max == std::numeric_limits<std::uint64_t>::max()
                   ? fmt::format("a whole number from {} on", min)
                   : fmt::format("a whole number from {} to {}", min, max));
    return *value;
}

} // namespace detail
} // namespace rivulet::tools
