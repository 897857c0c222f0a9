#include "pub/options.hpp"

#include "common/exit_code.hpp"

#include <fmt/format.h>

namespace rivulet::tools {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr auto any_integer = std::numeric_limits<std::uint64_t>::max();

constexpr const char* examples =
    R"(  stream-pub                                       8 channels of sine at 250 Hz
  stream-pub --name EEG --type EEG --channels 64 --rate 1000 --channel-labels @montage.txt --unit microvolts
  stream-pub --name Load --channels 1000 --rate 30000 --chunk 30 --mode sync --bind zmq+ipc:///tmp/load.sock
  stream-pub --name Replay --input recording.csv --rate 500 --wait-consumers 1
  stream-pub --name Replay --input capture.frames --input-format frames --wait-consumers 1
  echo go | stream-pub --name Markers --input - --input-format lines --wait-consumers 1
  stream-sub --output-format raw --output - --connect ENDPOINT | stream-pub --input - --input-format raw --channels 8)";

void add_stream_options(CLI::App& app, pub_options& o) {
    const std::string group = "Stream";
    app.add_option("--name", o.name, "What the stream is called (default: Demo, or the input file's name)")
        ->type_name("NAME")
        ->group(group);
    app.add_option("--type", o.type, "Kind of data: EEG, Markers, ...")->type_name("TYPE")->group(group);
    app.add_option("--source-id", o.source_id, "Says that it is the same source after a restart")
        ->type_name("ID")
        ->group(group);
    add_integer(app, "--channels", o.channels, 1, 1u << 20, "C", "Channels (default: 8; from a CSV's header)")
        ->group(group);
    add_number(app, "--rate", o.rate_hz, 0, 1e9, "HZ",
               "Nominal rate, 0 = irregular (default: 250; file input: 0, a capture's own)")
        ->group(group);
    add_choice<std::optional<channel_format>, channel_format>(app, "--format", o.format,
                                                              {{"float32", channel_format::float32},
                                                               {"float64", channel_format::float64},
                                                               {"int8", channel_format::int8},
                                                               {"int16", channel_format::int16},
                                                               {"int32", channel_format::int32},
                                                               {"int64", channel_format::int64},
                                                               {"string", channel_format::string},
                                                               {"blob", channel_format::blob}},
                                                              "Type of every value (default: float32; csv: float64)")
        ->group(group);
    app.add_option("--channel-labels", o.channel_labels, "Labels: a,b,c, or @FILE with one a line")
        ->type_name("LIST|@FILE")
        ->group(group);
    app.add_option("--unit", o.unit, "Unit of all channels: microvolts, ...")->type_name("U")->group(group);
    const auto add_metadata = [&o](const std::vector<std::string>& pairs) {
        for (const std::string& pair : pairs) {
            const auto equals = pair.find('=');
            if (equals == std::string::npos || equals == 0)
                tools::detail::refuse("--metadata", pair, "KEY=VALUE, as in amplifier.serial=17");
            o.metadata.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
        }
    };
    app.add_option_function<std::vector<std::string>>("--metadata", add_metadata,
                                                      "More of the description; dots make levels (repeatable)")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all()
        ->group(group);
}

void add_sample_options(CLI::App& app, pub_options& o) {
    const std::string group = "Samples";
    add_choice<std::optional<signal_shape>, signal_shape>(
        app, "--signal", o.signal,
        {{"sine", signal_shape::sine},
         {"square", signal_shape::square},
         {"sawtooth", signal_shape::sawtooth},
         {"noise", signal_shape::noise},
         {"counter", signal_shape::counter}},
        "What to generate; counter: sample i carries i in every channel (default: sine; strings, blobs: counter)")
        ->group(group);
    add_integer(app, "--seed", o.seed, 0, any_integer, "N", "Seed of the noise (default: 1)")->group(group);
    app.add_option("--input", o.input, "Samples from a file, - is stdin, instead of a signal")
        ->type_name("FILE|-")
        ->group(group);
    add_choice<std::optional<input_format>, input_format>(
        app, "--input-format", o.input_as,
        {{"csv", input_format::csv},
         {"raw", input_format::raw},
         {"lines", input_format::lines},
         {"frames", input_format::frames}},
        "csv: header [stamp,]<labels>; raw: values as in memory; lines: each line a string, pushed when it comes; "
        "frames: a capture of stream-sub (default: csv)")
        ->group(group);
    const std::string pace = "Pace and length";
    add_integer(app, "--chunk", o.chunk, 1, 1u << 24, "K", "Samples a push (default: 1 ms of them; unpaced: 64 KiB)")
        ->group(pace);
    add_integer(app, "--count", o.count, 1, any_integer, "SAMPLES", "Ends after so many")->group(pace);
    add_number(app, "--duration", o.duration_s, 1e-9, unlimited, "S", "Ends after so long")->group(pace);
    app.add_flag("--unpaced", o.unpaced, "Pushes as fast as it goes")->group(pace);
    add_number(app, "--interval", o.interval_s, 1e-6, unlimited, "S",
               "Irregular streams: a push every S seconds (default: generators 1, files at once)")
        ->group(pace);
}

void add_delivery_options(CLI::App& app, pub_options& o) {
    const std::string group = "Delivery";
    add_endpoints(app, "--bind", o.bind,
                  "Where to listen (repeatable; default: zmq+tcp://*:*, all interfaces, any port)")
        ->group(group);
    add_choice<delivery, delivery>(app, "--mode", o.mode, {{"async", delivery::async}, {"sync", delivery::sync}},
                                   "async: pushes into a buffer; sync: from memory to socket (default: async)")
        ->group(group);
    add_choice<std::optional<on_full>, on_full>(
        app, "--on-full", o.full, {{"drop-oldest", on_full::drop_oldest}, {"wait", on_full::wait}},
        "async, buffer full: slow consumers lose, or pushes wait (default: drop-oldest; file input: wait)")
        ->group(group);
    add_number(app, "--send-timeout", o.send_timeout_s, 0, unlimited, "S",
               "Longest wait for one consumer, 0 = for ever (default: 15)")
        ->group(group);
    add_buffer(app, "--buffer", o.buffer,
               "async: history for consumers that lag, seconds or 64MiB (default: 10 s, at most 256 MiB)")
        ->group(group);
    add_number(app, "--linger", o.linger_s, 0, unlimited, "S",
               "Longest wait for the last samples to get out (default: 1)")
        ->group(group);
    add_integer(app, "--wait-consumers", o.wait_consumers, 0, 100000, "N", "Begins when there are N consumers")
        ->group(group);
    add_number(app, "--wait-timeout", o.wait_timeout_s, 0, unlimited, "S",
               "Longest wait for them, then exit code 3 (default: for ever)")
        ->group(group);
}

[[noreturn]] void contradiction(const char* text) { throw usage_error(text); }

void check(const pub_options& o) {
    const auto input = o.input_as.value_or(input_format::csv);
    if (!o.input && o.input_as)
        contradiction("--input-format needs --input");
    if (o.input && o.signal)
        contradiction("--signal and --input are two sources: give one");
    if (o.rate_hz.value_or(0) > 0 && o.interval_s)
        contradiction("--interval is for irregular streams (--rate 0)");
    if (o.interval_s && o.unpaced)
        contradiction("--interval and --unpaced contradict each other");
    if (o.wait_timeout_s && o.wait_consumers == 0)
        contradiction("--wait-timeout needs --wait-consumers");
    if (o.mode == delivery::sync && (o.full || o.buffer))
        contradiction("--on-full and --buffer are for --mode async: sync has no buffer");
    if (!o.input)
        return;
    if (input == input_format::lines && (o.format.value_or(channel_format::string) != channel_format::string ||
                                         o.channels.value_or(1) != 1 || o.chunk.value_or(1) != 1))
        contradiction("--input-format lines is a stream of strings with one channel, pushed one by one");
    if (input == input_format::raw && !is_fixed_size(o.format.value_or(channel_format::float32)))
        contradiction("--input-format raw is for numeric formats: strings and blobs have no fixed size");
    if (input == input_format::frames && (o.channels || o.format || o.chunk))
        contradiction("--input-format frames: channels, format and chunks are the capture's own");
}

} // namespace

std::variant<pub_options, int> parse_pub_options(int argc, const char* const* argv) {
    pub_options o;
    CLI::App app("Publishes a stream: a generated signal, a file, or stdin.", "stream-pub");
    add_stream_options(app, o);
    add_sample_options(app, o);
    add_delivery_options(app, o);
    const std::string group = "Reports";
    app.add_flag("--json", o.json, "The line at the end as JSON")->group(group);
    app.add_option("--events", o.events, "Writes ready, consumer_joined, ..., summary as JSON lines")
        ->type_name("FILE|-")
        ->group(group);
    set_up_command_line(app, examples, o.common);
    if (const auto code = parse_command_line(app, argc, argv))
        return *code;
    check(o);
    return o;
}

} // namespace rivulet::tools
