#include "ls/options.hpp"

namespace rivulet::tools {
namespace {

constexpr const char* examples =
    R"(  stream-ls                                        all streams of the lab
  stream-ls --name 'EEG*' --json                   one JSON object a stream
  stream-ls --name EEG --metadata                  its channels, units, and what else its outlet says of it
  stream-ls --stats                                samples pushed and dropped, and who receives them
  stream-ls --watch                                a live view, until Ctrl-C
  stream-ls --name EEG --minimum 1 --quiet         health check: exit code 0 when it is there, else 3
  stream-ls --known-peer lab-pc                    across a router)";

} // namespace

std::variant<ls_options, int> parse_ls_options(int argc, const char* const* argv) {
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    ls_options o;
    CLI::App app("Lists the streams that can be found.", "stream-ls");
    add_selection_options(app, o.wanted, "Streams");
    const std::string group = "Search";
    add_integer(app, "--minimum", o.minimum, 1, 1'000'000, "N",
                "Ends as soon as there are N; exit code 3 when there are fewer (default: 1, of all that answer)")
        ->group(group);
    add_number(app, "--timeout", o.timeout_s, 0, unlimited, "S",
               "Longest search, 0 = for ever (default: 2; with --watch for ever)")
        ->group(group);
    app.add_flag("--watch", o.watch, "Goes on and shows what comes and goes")->group(group);
    const std::string output = "Output";
    app.add_flag("--json", o.json, "One JSON object a line: a stream, or with --watch an event")->group(output);
    app.add_flag("--metadata", o.metadata, "Asks each stream for its whole description, and shows it")->group(output);
    app.add_flag("--stats", o.stats, "Asks each stream for its counters and consumers, and shows them")->group(output);
    app.add_flag("--quiet", o.quiet, "No output: the exit code says it")->group(output);
    set_up_command_line(app, examples, o.common);
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    if (o.quiet && (o.json || o.watch || o.metadata || o.stats))
        throw usage_error("--quiet shows nothing: leave --json, --watch, --metadata and --stats out");
    return o;
}

} // namespace rivulet::tools
