#include "sub/options.hpp"

#include "common/exit_code.hpp"
#include "common/output_path.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace rivulet::tools {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr auto any_integer = std::numeric_limits<std::uint64_t>::max();

constexpr const char* examples =
    R"(  stream-sub --name EEG                                          samples as CSV on stdout
  stream-sub --connect zmq+tcp://127.0.0.1:16571                 the same without a search
  stream-sub --connect zmq+tcp://lab-pc:16571 --output eeg.csv --duration 60
  stream-sub --name '*' --minimum 2 --output 'recordings/{name}-{uid}.csv'
  stream-sub --name EEG --clocksync --dejitter --stamps iso      wall-clock times, whatever clock the EEG's host has
  stream-sub --connect ENDPOINT --output capture.frames --output-format frames
  stream-sub --connect ENDPOINT --output-format none --count 100000 --strict --summary json)";

void add_connection_options(CLI::App& app, sub_options& o) {
    const std::string group = "Streams";
    add_endpoints(app, "--connect", o.connect, "Endpoint of a stream (repeatable)")->group(group);
    add_selection_options(app, o.wanted, group);
    add_integer(app, "--minimum", o.minimum, 1, 1'000'000, "N", "Streams to find before any is opened (default: 1)")
        ->group(group);
    add_number(app, "--timeout", o.timeout_s, 0, unlimited, "S",
               "Longest wait for streams to be found and connected, 0 = for ever (default: 10)")
        ->group(group);
    add_history(app, "--history", o.start, "Begins with the outlet's last S seconds (default: 0)")->group(group);
    add_choice<when_full, when_full>(
        app, "--when-full", o.full,
        {{"drop-oldest", when_full::drop_oldest}, {"hold", when_full::hold}, {"latest", when_full::latest}},
        "When samples come faster than they are taken: lose the oldest, stop reading, or keep the newest only "
        "(default: "
        "drop-oldest)")
        ->group(group);
    app.add_flag(
           "--recover,!--no-recover", o.recover,
           "After a lost connection goes on where it ended, as far as the outlet's buffer reaches (default); or the "
           "stream counts as lost")
        ->group(group);
    app.add_flag("--busy-poll", o.busy_poll, "Spins instead of sleeping: less latency for a whole core")->group(group);
    const std::string length = "Length";
    add_integer(app, "--count", o.count, 1, any_integer, "SAMPLES", "Ends after so many of each stream")->group(length);
    add_number(app, "--duration", o.duration_s, 1e-9, unlimited, "S", "Ends so long after the first connection")
        ->group(length);
    add_number(app, "--idle-timeout", o.idle_timeout_s, 1e-3, unlimited, "S", "Ends when nothing came for so long")
        ->group(length);
    add_choice<bool, bool>(app, "--on-end", o.wait_at_end, {{"exit", false}, {"wait", true}},
                           "When a stream ends or is lost: leave it, or wait for the next on its endpoint (default: "
                           "exit)")
        ->group(length);
}

void parse_stamps(sub_options& o, const std::string& text) {
    const std::vector<std::string> names{"source", "local", "unix", "iso"};
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        tools::detail::refuse("--stamps", text, "one of " + tools::detail::list_of(names));
    o.stamps = text == "source" ? stamp_clock::source : text == "local" ? stamp_clock::local : stamp_clock::wall;
    o.sink.stamps = text == "unix" ? stamp_format::unix : text == "iso" ? stamp_format::iso : stamp_format::seconds;
}

void add_stamp_options(CLI::App& app, sub_options& o) {
    const std::string group = "Stamps (csv, jsonl)";
    app.add_option_function<std::string>(
           "--stamps", [&o](const std::string& text) { parse_stamps(o, text); },
           "source: as sent, on the clock of the stream's host; local: this host's clock on arrival; unix: wall-clock "
           "time of the sample, seconds since 1970; iso: the same as 2025-01-31T12:00:00.000000000Z (default: source)")
        ->type_name("source|local|unix|iso")
        ->group(group);
    app.add_flag("--clocksync", o.processing.clocksync,
                 "Brings stamps to this host's clock, by measuring the clock of the stream's host")
        ->group(group);
    app.add_flag("--dejitter", o.processing.dejitter, "Makes the stamps of a stream of regular rate even")
        ->group(group);
    app.add_flag("--monotonize", o.processing.monotonize, "Lets no stamp go back behind the one before")->group(group);
}

void add_output_options(CLI::App& app, sub_options& o) {
    const std::string group = "Output";
    app.add_option("--output", o.output,
                   "File, - is stdout; {name} {type} {source_id} {uid} are filled in (default: -)")
        ->type_name("FILE|-")
        ->group(group);
    add_choice<output_format, output_format>(app, "--output-format", o.sink.format,
                                             {{"csv", output_format::csv},
                                              {"jsonl", output_format::jsonl},
                                              {"raw", output_format::raw},
                                              {"frames", output_format::frames},
                                              {"none", output_format::none}},
                                             "csv: stamp,<labels>; jsonl: an object a sample; raw: values only; "
                                             "frames: a capture for stream-pub (default: csv)")
        ->group(group);
    app.add_flag("--sequence", o.sink.sequence, "Adds the sequence number of each sample")->group(group);
    add_choice<std::optional<summary_format>, summary_format>(
        app, "--summary", o.summary, {{"text", summary_format::text}, {"json", summary_format::json}},
        "The line at the end, one a stream; on stderr where stdout has samples (default: text)")
        ->group(group);
    app.add_option("--events", o.events, "Writes ready, gap, segment, status, summary as JSON lines")
        ->type_name("FILE|-")
        ->group(group);
    app.add_flag("--strict", o.strict, "Exit code 4 when samples were lost")->group(group);
}

void check(const sub_options& o, bool output_given) {
    const output_format format = o.sink.format;
    const bool text = format == output_format::csv || format == output_format::jsonl;
    const bool shared = o.output.find('{') == std::string::npos;
    if (o.connect.empty() && !o.wanted.given())
        throw usage_error("which stream? give --name NAME (stream-ls shows what there is), or --connect ENDPOINT");
    if (!o.wanted.given() && o.minimum > 1)
        throw usage_error("--minimum is for streams that are searched: give --name, --type, --source-id or --uid");
    if (const auto problem = check_path_template(o.output); !problem.empty())
        throw usage_error(fmt::format("--output '{}': {}", o.output, problem));
    if (format == output_format::none && output_given)
        throw usage_error("--output-format none writes no --output");
    if (o.samples_on_stdout() && o.events == "-")
        throw usage_error("--output and --events cannot both be stdout");
    if (!text && (o.sink.sequence || o.stamps != stamp_clock::source))
        throw usage_error("--sequence and --stamps are for csv and jsonl");
    if (!text && o.processes_stamps())
        throw usage_error("--clocksync, --dejitter and --monotonize are for csv and jsonl; captures (frames) keep the "
                          "stamps as sent, and what was measured of their clock beside them");
    if (o.stamps == stamp_clock::local && o.processes_stamps())
        throw usage_error("--stamps local is the time of arrival: leave --clocksync, --dejitter and --monotonize out");
    if (o.connect.size() + (o.wanted.given() ? o.minimum : 0) > 1 && shared && format != output_format::none &&
        format != output_format::jsonl)
        throw usage_error(
            "several streams need a file each: --output 'DIR/{name}-{uid}.csv', or --output-format jsonl");
    if ((format == output_format::raw || format == output_format::frames) && o.output == "-" && isatty(STDOUT_FILENO))
        throw usage_error("this format is no text for a terminal: use --output FILE");
    if (o.strict && o.full == when_full::latest)
        throw usage_error("--strict and --when-full latest contradict each other: latest leaves samples out");
}

} // namespace

std::variant<sub_options, int> parse_sub_options(int argc, const char* const* argv) {
    sub_options o;
    CLI::App app("Receives streams and writes their samples.", "stream-sub");
    add_connection_options(app, o);
    add_output_options(app, o);
    add_stamp_options(app, o);
    set_up_command_line(app, examples, o.common);
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    check(o, app.count("--output") > 0);
    o.sink.name_stream = o.connect.size() > 1 || o.wanted.given();
    return o;
}

} // namespace rivulet::tools
