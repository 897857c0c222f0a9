#include "bench/options.hpp"

#include <fmt/format.h>

namespace rivulet::tools::bench {
namespace {

constexpr const char* examples =
    R"(  stream-bench raw                                         what this machine can do without us
  stream-bench matrix --links posix+tcp --rates 0          sync and async against plain loops, unpaced
  stream-bench matrix --consumers 1,2,3                    1000 channels at 30 kHz, the classic table
  stream-bench latency --streams 1,8 --channels 1,2,16,64 --rates 50,500,1000,10000
  stream-bench throughput --sizes 4,4000,120000 --json
  stream-bench report --folder results                     everything, about an hour
  stream-bench capacity --links posix+tcp,zmq+tcp          the most channels at 30 kHz, int16 and float32
  stream-bench loop                                        a control loop over all links, phase by phase
  stream-bench throughput --consumers 0 --sizes 4          pushes that nobody receives
  stream-bench matrix --quick --require '*/sync/*:cpu_ratio<=2')";

/// A list "a,b,c" each of whose elements `parse` turns into a value.
template<class T, class Parse>
CLI::Option* add_list(CLI::App& app, const std::string& flag, std::optional<std::vector<T>>& target,
                      const std::string& type, const std::string& help, Parse parse) {
    const auto read = [flag, parse, &target](const std::vector<std::string>& texts) {
        target.emplace();
        for (const std::string& text : texts)
            target->push_back(parse(flag, text));
    };
    return app.add_option_function<std::vector<std::string>>(flag, read, help)
        ->type_name(type)
        ->delimiter(',')
        ->expected(1)
        ->take_all();
}

void add_integers(CLI::App& app, const std::string& flag, std::optional<std::vector<std::uint64_t>>& target,
                  std::uint64_t min, std::uint64_t max, const std::string& help) {
    add_list(app, flag, target, "N,...", help, [=](const std::string& name, const std::string& text) {
        return tools::detail::parse_bounded_integer(name, text, min, max);
    });
}

template<class T>
auto one_of(std::vector<std::pair<std::string, T>> choices) {
    return [choices = std::move(choices)](const std::string& flag, const std::string& text) -> T {
        std::vector<std::string> names;
        for (const auto& [name, value] : choices) {
            if (name == text)
                return value;
            names.push_back(name);
        }
        tools::detail::refuse(flag, text, "one of " + tools::detail::list_of(names));
    };
}

void add_links(CLI::App& app, bench_options& o) {
    std::vector<std::pair<std::string, carrier>> all;
    for (const carrier c : all_links())
        all.emplace_back(to_string(c), c);
    add_list(app, "--links", o.links, "LINK,...", "posix+tcp, posix+unix, zmq+tcp, zmq+ipc (default: all)",
             one_of(std::move(all)));
}

void add_modes(CLI::App& app, bench_options& o, const std::string& help) {
    std::vector<std::pair<std::string, mode>> all;
    for (const way w : {way::async, way::async_wait, way::sync})
        for (const bool spin : {false, true})
            all.emplace_back(to_string(mode{w, spin}), mode{w, spin});
    add_list(app, "--modes", o.modes, "MODE,...", help, one_of(std::move(all)));
}

void add_rates(CLI::App& app, bench_options& o, double least, const std::string& help) {
    add_list(app, "--rates", o.rates, "HZ,...", help, [least](const std::string& flag, const std::string& text) {
        return tools::detail::parse_bounded(flag, text, least, 1e7);
    });
}

/// What several subcommands take.
void add_shape(CLI::App& app, bench_options& o) {
    add_choice<bool, bool>(app, "--format", o.int16, {{"float32", false}, {"int16", true}},
                           "Type of the values (default: float32)");
    add_choice<bool, bool>(app, "--stamps", o.given_stamps, {{"now", false}, {"given", true}},
                           "now: each push reads the clock; given: the caller has them (default: now)");
    add_integer(app, "--buffer", o.buffer_bytes, 1u << 16, 1u << 30, "BYTES",
                "Buffer of our outlets and inlets (default: 16 MiB)");
}

void add_subcommands(CLI::App& app, bench_options& o) {
    CLI::App* raw =
        app.add_subcommand("raw", "Plain loops over sockets and libzmq, and memcpy: what the machine can do");
    CLI::App* matrix =
        app.add_subcommand("matrix", "Sync and async by link, channels, rate, chunk and consumers: CPU of "
                                     "both sides, system calls, allocations");
    CLI::App* latency = app.add_subcommand("latency", "One-way latency by link, streams, channels and rate");
    CLI::App* throughput = app.add_subcommand("throughput", "As fast as it goes, by size of a push");
    CLI::App* capacity = app.add_subcommand("capacity", "The most channels that a link sustains, found by trying");
    CLI::App* loop =
        app.add_subcommand("loop", "A control loop, phase by phase: to a consumer and back to the producer");
    app.add_subcommand("queue", "The sample log within a process against other queues");
    app.add_subcommand("encoding", "Frames: bytes, ns to encode and decode, against msgpack-c");
    CLI::App* scale = app.add_subcommand("scale", "Many idle streams between two processes: threads, memory, CPU");
    CLI::App* report = app.add_subcommand("report", "All of these with their defaults: Markdown, CSV, JSON and plots");
    report->add_option("--folder", o.folder, "Where to write it (default: bench-report)")->type_name("FOLDER");
    for (CLI::App* sub : {matrix, latency, throughput, capacity, loop, scale, report})
        add_links(*sub, o);
    add_modes(*matrix, o, "async, async-wait, sync, each also with -spin (default: sync,async)");
    add_modes(*latency, o, "async, async-wait, sync, each also with -spin: the inlet spins (default: all but wait)");
    add_modes(*throughput, o, "async (loses), async-wait, sync (do not), each also with -spin (default: all three)");
    add_modes(*capacity, o, "async, async-wait, sync, each also with -spin (default: sync,async)");
    add_modes(*loop, o, "async, sync, each also with -spin: the inlet spins (default: async,sync,async-spin)");
    add_integers(*matrix, "--channels", o.channels, 1, 1u << 20, "Channels (default: 1000)");
    add_integers(*latency, "--channels", o.channels, 1, 1u << 20, "Channels (default: 1,64)");
    add_integers(*loop, "--channels", o.channels, 1, 1u << 20, "Channels (default: 8)");
    add_rates(*matrix, o, 0, "Samples a second, 0 = as fast as it goes (default: 30000)");
    add_rates(*latency, o, 0.1, "Samples a second, pushed one by one (default: 500,1000,10000)");
    add_rates(*capacity, o, 0.1, "Samples a second (default: 30000)");
    add_rates(*loop, o, 0, "Rounds a second at most, 0 = one after another (default: 1000)");
    for (CLI::App* sub : {matrix, capacity})
        add_integers(*sub, "--chunks", o.chunks, 1, 1u << 20,
                     sub == matrix ? "Samples a push (default: 1,4,8,16,30)" : "Samples a push (default: 30)");
    add_integers(*scale, "--streams", o.streams, 1, 4000, "Streams (default: 1,10,100,1000)");
    add_integers(*latency, "--streams", o.streams, 1, 64, "Streams from one process to another (default: 1,8)");
    for (CLI::App* sub : {raw, throughput})
        add_integers(
            *sub, "--sizes", o.sizes, 4, 1u << 26,
            "Bytes a push: below 16000 of one channel, else of 1000 (default: 4,400,4000,40000,120000,1000000)");
    for (CLI::App* sub : {raw, matrix, throughput, capacity})
        add_integers(*sub, "--consumers", o.consumers, sub == capacity ? 1 : 0, 64,
                     sub == throughput ? "Consumers (default: 1,3)" : "Consumers (default: 1)");
    for (CLI::App* sub : {matrix, latency, throughput})
        add_shape(*sub, o);
    for (CLI::App* sub : app.get_subcommands({})) {
        sub->fallthrough();
        sub->set_help_flag("-h,--help", "Shows this help");
        sub->get_formatter()->column_width(34);
        sub->footer("\nOptions of all subcommands: stream-bench --help");
    }
}

} // namespace

std::string to_string(const mode& m) { return fmt::format("{}{}", to_string(m.how), m.spin ? "-spin" : ""); }

std::variant<bench_options, int> parse_bench_options(int argc, const char* const* argv) {
    bench_options o;
    o.command.assign(argv, argv + argc);
    CLI::App app(
        "Measures Rivulet beside loops that do the same without it. Each publisher and subscriber is a process "
        "of its own; runs of what is compared alternate; ratios are run by run.",
        "stream-bench");
    add_subcommands(app, o);
    app.require_subcommand(1);
    const std::string section = "Measuring";
    std::optional<std::uint64_t> runs;
    std::optional<double> seconds;
    add_integer(app, "--runs", runs, 1, 1000, "N", "Runs; shown are median (min..max) (default: 5; --quick: 1)")
        ->group(section);
    add_number(app, "--duration", seconds, 0.001, 3600, "S", "Length of a run (default: 0.5; --quick: 0.1)")
        ->group(section);
    app.add_flag("--quick", o.quick, "A few seconds in all, to see that it works")->group(section);
    const auto require = [&o](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            o.required.push_back(parse_requirement(text));
    };
    app.add_option_function<std::vector<std::string>>(
           "--require", require,
           "Exit code 1 unless the median keeps this, e.g. '*/sync/*:cpu_ratio<=1.25' (repeatable)")
        ->type_name("[ROWS:]RATIO<=X|>=X")
        ->expected(1)
        ->take_all()
        ->group(section);
    app.add_flag("--json", o.json, "One JSON object in place of the table")->group(section);
    app.add_flag("--csv", o.csv, "CSV in place of the table")->group(section)->excludes("--json");
    set_up_command_line(app, examples, o.common);
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    o.subcommand = app.get_subcommands().front()->get_name();
    o.runs = runs.value_or(o.quick ? 1 : 5);
    o.seconds = seconds.value_or(o.quick ? 0.1 : 0.5);
    return o;
}

} // namespace rivulet::tools::bench
