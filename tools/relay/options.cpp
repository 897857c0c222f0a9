#include "relay/options.hpp"

#include "common/output_path.hpp"

#include <fmt/format.h>

namespace rivulet::tools {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

constexpr const char* examples =
    R"(  stream-relay --name '*'                                            all streams, on a host with two networks
  stream-relay --name 'EEG*' --bind posix+tcp://*:*                  from whatever transport to plain TCP
  stream-relay --connect zmq+tcp://amp:5555 --bind zmq+ipc:///run/rivulet/eeg
  stream-relay --name '*' --bind 'posix+unix:///run/rivulet/{name}-{uid}'
  stream-relay --type EEG --known-peer amp --to-session public       across a router, into another session)";

void add_input_options(CLI::App& app, relay_options& o) {
    const std::string group = "Streams";
    add_endpoints(app, "--connect", o.connect, "Endpoint of a stream (repeatable)")->group(group);
    add_selection_options(app, o.wanted, group);
    add_number(app, "--timeout", o.timeout_s, 0, unlimited, "S",
               "Longest wait for the first stream, then exit code 3; 0 = for ever (default: 0)")
        ->group(group);
    add_history(app, "--history", o.start, "Begins with the outlets' last S seconds (default: 0)")->group(group);
    add_number(app, "--recover-for", o.recover_for_s, 0, unlimited, "S",
               "How long a lost stream stays offered while it is looked for (default: 60)")
        ->group(group);
}

void add_output_options(CLI::App& app, relay_options& o) {
    const std::string group = "Where streams are offered";
    add_endpoints(app, "--bind", o.bind,
                  "Where to listen (repeatable; default: zmq+tcp://*:*, all interfaces, any port); of several streams "
                  "each needs its own: a port of *, or {name} {type} {source_id} {uid} in a path")
        ->group(group);
    add_buffer(app, "--buffer", o.buffer,
               "History for consumers that lag, seconds or 64MiB (default: 10 s, at most 256 MiB)")
        ->group(group);
    add_choice<on_full, on_full>(app, "--on-full", o.full,
                                 {{"drop-oldest", on_full::drop_oldest}, {"wait", on_full::wait}},
                                 "Buffer full: slow consumers lose, or the outlet behind the relay feels it (default: "
                                 "drop-oldest)")
        ->group(group);
    add_number(app, "--send-timeout", o.send_timeout_s, 0, unlimited, "S",
               "--on-full wait: longest wait for one consumer, 0 = for ever (default: 15)")
        ->group(group);
    app.add_flag("--clocksync", o.clocksync,
                 "Brings stamps to this host's clock; else they stay as they are, bit for bit")
        ->group(group);
    app.add_option("--to-session", o.to.session, "Session there (default: that of --session)")
        ->type_name("NAME")
        ->group(group);
    app.add_option("--to-config", o.to.config_file, "Configuration there (default: that of --config)")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--to-known-peer", o.to.known_peers,
                   "HOST or HOST:PORT there, in place of --known-peer (repeatable)")
        ->type_name("HOST")
        ->expected(1)
        ->take_all()
        ->group(group);
}

void add_end_options(CLI::App& app, relay_options& o) {
    const std::string group = "Length and reports";
    add_number(app, "--duration", o.duration_s, 1e-9, unlimited, "S", "Ends after so long")->group(group);
    add_choice<bool, bool>(app, "--on-end", o.wait_at_end, {{"exit", false}, {"wait", true}},
                           "When all relayed streams have ended: end too, or wait for more (default: wait)")
        ->group(group);
    app.add_flag("--json", o.json, "The lines at the end as JSON, one a stream")->group(group);
    app.add_option("--events", o.events, "Writes ready, segment, gap, refused, status, summary as JSON lines")
        ->type_name("FILE|-")
        ->group(group);
}

void check(const relay_options& o) {
    if (o.connect.empty() && !o.wanted.given())
        throw usage_error(
            "which streams? give --name '*' for all (stream-ls shows what there is), or --connect ENDPOINT");
    for (const std::string& endpoint : o.bind)
        if (const auto problem = check_path_template(endpoint); !problem.empty())
            throw usage_error(fmt::format("--bind '{}': {}", endpoint, problem));
    if (o.send_timeout_s && o.full != on_full::wait)
        throw usage_error("--send-timeout needs --on-full wait: otherwise nobody is waited for");
}

} // namespace

common_options relay_options::output_side() const {
    common_options out = common;
    if (to.config_file)
        out.config_file = to.config_file;
    if (to.session)
        out.session = to.session;
    if (!to.known_peers.empty())
        out.known_peers = to.known_peers;
    return out;
}

std::variant<relay_options, int> parse_relay_options(int argc, const char* const* argv) {
    relay_options o;
    CLI::App app(
        "Repeats streams: from one network, session or transport to another, numbered and stamped as they are.",
        "stream-relay");
    add_input_options(app, o);
    add_output_options(app, o);
    add_end_options(app, o);
    set_up_command_line(app, examples, o.common);
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    check(o);
    return o;
}

} // namespace rivulet::tools
