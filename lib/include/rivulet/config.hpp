#pragma once

#include <rivulet/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rivulet {

/// All settings of rivulet.toml, with their compiled defaults. Only keys that are in force are listed; an unknown key
/// in a file is an error. Precedence: what a program or flag sets > RIVULET_<SECTION>_<KEY> > file > default.
/// In files and variables a duration carries its unit: "200ms", "15s", "2min", "1h"; sizes are bytes.
struct config {
    struct session_section {
        std::string name = "default"; ///< separates labs on one network; 1..64 bytes
        bool operator==(const session_section&) const = default;
    } session;

    struct ports_section {
        /// Ports for wildcard binds: 0,0 = ephemeral; otherwise the inclusive range to try (for firewalls).
        std::uint16_t first = 0;
        std::uint16_t last = 0;
        /// Hosts or addresses under which others reach outlets that listen on all interfaces, where those that they see
        /// would not do (address translation, published container ports). Offered before the ones that they see.
        std::vector<std::string> advertise{};
        bool operator==(const ports_section&) const = default;
    } ports;

    /// How streams are found by name.
    struct discovery_section {
        bool enabled = true;                    ///< off: outlets are not advertised, resolve() refuses
        std::string group = "239.255.83.76";    ///< IPv4 multicast group
        std::string group6 = "ff05::5256:4c54"; ///< IPv6 multicast group
        std::uint16_t port = 16700;             ///< UDP, the same on all hosts
        bool multicast = true;                  ///< off: on the loopback interface only
        bool broadcast = true;                  ///< IPv4 broadcasts besides, for networks that swallow multicasts
        std::uint32_t hops = 1;                 ///< routers that a multicast may pass, plus one
        std::chrono::milliseconds beacon_interval{1000}; ///< between two signs of life; gone after three missed ones
        /// Hosts asked and told by unicast: "host", "host:port", "[address]:port". Names are looked up again and again.
        std::vector<std::string> known_peers{};
        bool operator==(const discovery_section&) const = default;
    } discovery;

    struct tuning_section {
        std::chrono::milliseconds watchdog{15000};             ///< silence after which a stream counts as lost
        std::optional<std::chrono::milliseconds> send_timeout; ///< unset: follows watchdog; 0: for ever
        std::chrono::milliseconds linger{1000};         ///< how long closing waits for the last samples to get out
        std::chrono::milliseconds keepalive{3000};      ///< silence after which an outlet says that it lives
        std::chrono::milliseconds buffer{10000};        ///< history an outlet and an inlet keep, regular streams
        std::size_t buffer_max_bytes = 256u << 20;      ///< cap of that, regular streams
        std::size_t buffer_irregular_bytes = 16u << 20; ///< the same for irregular streams
        std::size_t max_frame = 64u << 20;              ///< largest frame accepted and largest single value, bytes
        std::uint32_t max_consumers = 1000;             ///< consumers an outlet accepts
        bool operator==(const tuning_section&) const = default;
    } tuning;

    struct zmq_section {
        std::uint32_t window_frames = 16;    ///< frames in flight to one consumer (async)
        std::size_t window_bytes = 4u << 20; ///< bytes in flight to one consumer (async)
        std::uint32_t max_sockets = 16384;   ///< ZMQ_MAX_SOCKETS of the context
        bool operator==(const zmq_section&) const = default;
    } zmq;

    struct sockopts_section {
        std::size_t sndbuf = 1u << 20; ///< send buffer of each posix connection, bytes, both ends; 0 = the kernel's
        std::size_t rcvbuf = 0;        ///< receive buffer likewise; 0 = the kernel's, which grows with need
        std::uint32_t priority = 0;    ///< SO_PRIORITY of TCP connections, 0..6; 0 = the kernel's
        bool operator==(const sockopts_section&) const = default;
    } sockopts;

    struct posix_section {
        std::uint32_t mode = 0660; ///< of unix sockets
        std::string group;         ///< of unix sockets; empty = the process's
        bool operator==(const posix_section&) const = default;
    } posix;

    /// Who may take part, and how that is proved; files are made by stream-keygen (rivulet/keys.hpp). SECURITY.md says
    /// what is promised. A secret file that others than its owner can read is refused.
    struct security_section {
        /// Whatever would be plain is an error: posix links, ZeroMQ links without secret_key, beacons without
        /// session_key.
        bool required = false;
        /// File with this program's secret key: all of its ZeroMQ links, data and service, are then authenticated and
        /// encrypted (CURVE), on both sides. Empty: they are plain. Cost: every byte is encrypted, checked and copied
        /// once more, by libzmq's I/O threads.
        std::string secret_key{};
        /// Public keys of outlets that inlets may connect to: each as text (curve-public:...) or a file with one a
        /// line. The own key always may, and is the one expected where there is no other.
        std::vector<std::string> servers{};
        /// Public keys of consumers that outlets let in, likewise: whoever has another key, or none, gets nothing. The
        /// own key always may.
        std::vector<std::string> clients{};
        /// File with the key that all programs of a lab share to authenticate beacons. Empty: they are plain.
        std::string session_key{};
        bool operator==(const security_section&) const = default;
    } security;

    struct log_section {
        /// trace|debug|info|warn|error|off; auto: warn in a library context, info in the stream-* programs.
        std::string level = "auto";
        std::string format = "text"; ///< text|json
        bool operator==(const log_section&) const = default;
    } log;

    /// send_timeout with its default applied; rivulet::forever for 0.
    RIVULET_API std::chrono::nanoseconds effective_send_timeout() const noexcept;
    bool operator==(const config&) const = default;
};

/// Checks the ranges of all settings, as reading a file does; contexts call it.
/// @throws error bad_config: "[section] key: what is wrong, what is allowed".
RIVULET_API void validate(const config& settings);

/// Where a configuration came from, for messages.
struct config_source {
    std::optional<std::string> file; ///< the file that was read
};

/// Environment variables by name.
using environment = std::map<std::string, std::string>;
/// Those of this process whose names begin with RIVULET_, and HOME.
RIVULET_API environment process_environment();

/// Reads the configuration: `file` when given, else RIVULET_CONFIG, ./rivulet.toml, ~/.config/rivulet/rivulet.toml,
/// /etc/rivulet/rivulet.toml, the first that exists (a file asked for must exist); then the environment over it.
/// A variable set to nothing counts as not set. RIVULET_ variables of other sections are ignored, as orchestrators
/// make such names (RIVULET_SERVICE_HOST), unless they look like a misspelt key.
/// @throws error bad_config, one line a finding: "file:line: [section] key: what is wrong, what is allowed", or the
/// name of the variable in place of file and line.
RIVULET_API config load_config(const std::optional<std::string>& file = std::nullopt);
/// The same with the environment given (tests). `source`, if not null, is told which file was read.
RIVULET_API config load_config(const std::optional<std::string>& file, const environment& env,
                               config_source* source = nullptr);
/// Reads TOML text over the defaults; `origin` is named in errors.
RIVULET_API config parse_config(const std::string& toml_text, const std::string& origin);
/// The documented default file, written from the compiled defaults.
RIVULET_API std::string default_config_text();

} // namespace rivulet
