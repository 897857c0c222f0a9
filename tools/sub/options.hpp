#pragma once

#include "common/cli.hpp"
#include "common/sample_sink.hpp"
#include "common/selection.hpp"

#include <rivulet/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rivulet::tools {

enum class stamp_clock {
    source, ///< as the outlet sent them (or as --clocksync and the like make them)
    local,  ///< this host's clock when the samples arrived
    wall    ///< wall-clock time of the sample; sink_options::stamps says how it is written
};
enum class summary_format { text, json };

/// The command line of stream-sub.
struct sub_options {
    common_options common;

    std::vector<std::string> connect;
    selection wanted;
    std::uint64_t minimum = 1; ///< streams to find before any is opened
    double timeout_s = 10;     ///< 0 = for ever
    start_at start = start_at::now();

    std::optional<std::uint64_t> count; ///< of each stream
    std::optional<double> duration_s;
    std::optional<double> idle_timeout_s;
    bool wait_at_end = false;
    bool recover = true;

    std::string output = "-";
    sink_options sink;
    stamp_clock stamps = stamp_clock::source;
    stamp_options processing;
    std::optional<summary_format> summary;
    std::optional<std::string> events;

    when_full full = when_full::drop_oldest;
    bool busy_poll = false;
    bool strict = false;

    bool samples_on_stdout() const { return sink.format != output_format::none && output == "-"; }
    bool processes_stamps() const { return processing.clocksync || processing.dejitter || processing.monotonize; }
    bool stdout_is_taken() const { return samples_on_stdout() || events == "-"; }
};

/// Options to run with, or the exit code to end with at once.
std::variant<sub_options, int> parse_sub_options(int argc, const char* const* argv);

} // namespace rivulet::tools
