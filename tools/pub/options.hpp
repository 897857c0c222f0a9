#pragma once

#include "common/cli.hpp"
#include "common/generator.hpp"

#include <rivulet/channel_format.hpp>
#include <rivulet/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rivulet::tools {

enum class input_format { csv, raw, lines, frames };

/// The command line of stream-pub; what was not given is empty, and plan.hpp knows its default.
struct pub_options {
    common_options common;

    std::optional<std::string> name, type, source_id;
    std::optional<std::uint64_t> channels;
    std::optional<double> rate_hz;
    std::optional<channel_format> format;
    std::optional<std::string> channel_labels; ///< LIST or @FILE
    std::optional<std::string> unit;
    std::vector<std::pair<std::string, std::string>> metadata;

    std::optional<signal_shape> signal;
    std::uint64_t seed = 1;
    std::optional<std::string> input;
    std::optional<input_format> input_as;

    std::optional<std::uint64_t> chunk;
    std::optional<std::uint64_t> count;
    std::optional<double> duration_s;
    std::optional<double> interval_s;
    bool unpaced = false;

    std::vector<std::string> bind;
    delivery mode = delivery::async;
    std::optional<on_full> full;
    std::optional<double> send_timeout_s;
    std::optional<buffer_size> buffer;
    std::optional<double> linger_s;
    std::uint64_t wait_consumers = 0;
    std::optional<double> wait_timeout_s;

    bool json = false;
    std::optional<std::string> events;
};

/// Options to run with, or the exit code to end with at once.
std::variant<pub_options, int> parse_pub_options(int argc, const char* const* argv);

} // namespace rivulet::tools
