#pragma once

#include "common/cli.hpp"
#include "common/selection.hpp"

#include <rivulet/options.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rivulet::tools {

/// The command line of stream-relay.
struct relay_options {
    common_options common; ///< of both sides, as far as `to` does not say otherwise
    struct other_side {
        std::optional<std::string> config_file, session;
        std::vector<std::string> known_peers;
    } to; ///< where streams are offered

    std::vector<std::string> connect;
    selection wanted;
    double timeout_s = 0; ///< until the first stream is relayed; 0 = for ever
    start_at start = start_at::now();
    double recover_for_s = 60;

    std::vector<std::string> bind; ///< may hold {name} and so on
    std::optional<buffer_size> buffer;
    on_full full = on_full::drop_oldest;
    std::optional<double> send_timeout_s;
    bool clocksync = false;

    std::optional<double> duration_s;
    bool wait_at_end = true;
    bool json = false;
    std::optional<std::string> events;

    /// The command line's common options as they hold where streams are offered.
    common_options output_side() const;
};

/// Options to run with, or the exit code to end with at once.
std::variant<relay_options, int> parse_relay_options(int argc, const char* const* argv);

} // namespace rivulet::tools
