#pragma once

#include <rivulet/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rivulet {

/// All settings of rivulet.toml, with their compiled defaults. Only keys that are in force are listed; an unknown key
/// in a file is an error. Precedence: what a program or flag sets > RIVULET_<SECTION>_<KEY> > file > default.
struct config {
    struct session_section {
        std::string name = "default"; ///< separates labs on one network; 1..64 bytes
    } session;

    struct ports_section {
        /// Ports for wildcard binds: 0,0 = ephemeral; otherwise the inclusive range to try (for firewalls).
        std::uint16_t first = 0;
        std::uint16_t last = 0;
    } ports;

    struct tuning_section {
        std::chrono::milliseconds watchdog{15000};             ///< silence after which a stream counts as lost
        std::optional<std::chrono::milliseconds> send_timeout; ///< unset: follows watchdog; 0 in a file: for ever
        std::chrono::milliseconds linger{1000};         ///< how long closing waits for the last samples to get out
        std::chrono::milliseconds keepalive{3000};      ///< silence after which an outlet says that it lives
        double buffer_seconds = 10.0;                   ///< history an outlet and an inlet keep, regular streams
        std::size_t buffer_max_bytes = 256u << 20;      ///< cap of that, regular streams
        std::size_t buffer_irregular_bytes = 16u << 20; ///< the same for irregular streams
        std::size_t max_frame = 64u << 20;              ///< largest frame accepted and largest single value, bytes
        std::uint32_t max_consumers = 1000;             ///< consumers an outlet accepts
    } tuning;

    struct zmq_section {
        std::uint32_t window_frames = 16;    ///< frames in flight to one consumer (async)
        std::size_t window_bytes = 4u << 20; ///< bytes in flight to one consumer (async)
        std::uint32_t max_sockets = 16384;   ///< ZMQ_MAX_SOCKETS of the context
    } zmq;

    struct log_section {
        std::string level = "info";  ///< trace|debug|info|warn|error|off
        std::string format = "text"; ///< text|json
    } log;

    /// send_timeout with its default applied.
    std::chrono::nanoseconds effective_send_timeout() const noexcept;
};

/// Where a value comes from, for messages.
struct config_source {
    std::optional<std::string> file; ///< the file that was read
};

/// Looks an environment variable up; nothing when it is not set.
using environment = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the configuration: `file` when given, else RIVULET_CONFIG, ./rivulet.toml, ~/.config/rivulet/rivulet.toml,
/// /etc/rivulet/rivulet.toml, the first that exists; then the environment over it.
/// @throws error bad_config: "file:line: [section] key: what is wrong, what is allowed".
RIVULET_API config load_config(const std::optional<std::string>& file = std::nullopt);
/// The same with the environment given (tests). `source`, if not null, is told which file was read.
RIVULET_API config load_config(const std::optional<std::string>& file, const environment& env,
                               config_source* source = nullptr);
/// Reads TOML text over the defaults; `origin` is named in errors.
RIVULET_API config parse_config(const std::string& toml_text, const std::string& origin);
/// The documented default file, written from the compiled defaults.
RIVULET_API std::string default_config_text();

} // namespace rivulet
