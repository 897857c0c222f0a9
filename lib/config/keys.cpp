#include "config/keys.hpp"

#include "platform/host_port.hpp"
#include "platform/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sys/socket.h>
#include <type_traits>

namespace rivulet::settings {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;
constexpr std::int64_t GiB = 1024 * MiB;

constexpr std::array<section, 9> all_sections{{
    {"session", "Which lab this is: streams of another session are not seen."},
    {"ports", "Where outlets listen when their endpoint leaves the port open."},
    {"discovery", "How streams are found by name."},
    {"tuning", "Time limits and memory."},
    {"zmq", "The ZeroMQ backend."},
    {"sockopts", "Kernel buffers of posix connections: they bound what is in flight."},
    {"posix", "Unix sockets of the posix backend."},
    {"security", "Who may take part: SECURITY.md says what is promised. stream-keygen makes the files."},
    {"log", "What is written to standard error."},
}};

template<class T>
struct is_optional : std::false_type {};
template<class T>
struct is_optional<std::optional<T>> : std::true_type {};

std::string variable_name(std::string_view section, std::string_view name) {
    std::string out = fmt::format("RIVULET_{}_{}", section, name);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    return out;
}

/// @param field takes a config& and gives the member's reference.
template<class Rule, class Field>
key make_key(std::string_view section, std::string_view name, Field field, Rule rule, std::string_view help) {
    using member = std::remove_reference_t<decltype(field(std::declval<config&>()))>;
    key out{section, name, help, rule.allowed(), variable_name(section, name), {}, {}, {}};
    out.assign = [=](config& settings, const raw_value& raw) -> std::string {
        std::string why = "is out of range";
        const std::optional<typename Rule::type> value = rule.read(raw, why);
        if (!value || !rule.allows(*value))
            return fmt::format("{} {}; allowed: {}", raw.shown(), why, rule.allowed());
        if constexpr (is_optional<member>::value)
            field(settings) = *value;
        else
            field(settings) = static_cast<member>(*value);
        return "";
    };
    // Null where an optional is unset.
    const auto current = [=](const config& settings) -> std::optional<typename Rule::type> {
        const auto& value = field(settings);
        if constexpr (is_optional<member>::value)
            return value;
        else
            return static_cast<typename Rule::type>(value);
    };
    out.literal = [=](const config& settings) {
        const auto value = current(settings);
        return value ? rule.literal(*value) : std::string();
    };
    out.check = [=](const config& settings) -> std::string {
        const auto value = current(settings);
        return !value || rule.allows(*value) ? std::string()
                                             : fmt::format("{} is out of range; allowed: {}",
                                                           platform::printable(rule.literal(*value)), rule.allowed());
    };
    return out;
}

#define RIVULET_KEY(section, name, rule, help)                                                                         \
    make_key(                                                                                                          \
        #section, #name, [](auto& c) -> auto& { return c.section.name; }, rule, help)

const std::vector<key>& table() {
    static const std::vector<key> all{
        RIVULET_KEY(session, name, (text_rule{1, 64}), "Name of the lab."),

        RIVULET_KEY(ports, first, (count_rule{0, 65535}), "First port to try; first and last 0 = any free port."),
        RIVULET_KEY(ports, last, (count_rule{0, 65535}), "Last port to try; give a firewall this range."),
        RIVULET_KEY(ports, advertise, (list_rule{8, {1, 253}}),
                    "Hosts under which others reach outlets on all interfaces, where the addresses that they see would "
                    "not do."),

        RIVULET_KEY(discovery, enabled, (switch_rule{}),
                    "false: outlets are not advertised, and nothing can be found."),
        RIVULET_KEY(discovery, group, (group_rule{AF_INET}),
                    "IPv4 multicast group of the beacons; who uses another one is not seen."),
        RIVULET_KEY(discovery, group6, (group_rule{AF_INET6}), "IPv6 multicast group of the beacons, likewise."),
        RIVULET_KEY(discovery, port, (count_rule{1, 65535}), "UDP port of the beacons, the same on all hosts."),
        RIVULET_KEY(discovery, multicast, (switch_rule{}), "false: multicasts on the loopback interface only."),
        RIVULET_KEY(discovery, broadcast, (switch_rule{}),
                    "IPv4 broadcasts besides, for networks that swallow multicasts."),
        RIVULET_KEY(discovery, hops, (count_rule{1, 255}),
                    "How far multicasts go: 1 = this network, 2 = beyond one router, ..."),
        RIVULET_KEY(discovery, beacon_interval, (duration_rule{50ms, 1min}),
                    "Time between two beacons of an outlet; three missed ones and it is gone."),
        RIVULET_KEY(discovery, known_peers, (list_rule{64, {1, 260}}),
                    "Hosts to ask and to tell by unicast, where multicasts do not get: \"host\", \"host:port\", "
                    "\"[address]:port\"."),

        RIVULET_KEY(tuning, watchdog, (duration_rule{100ms, 24h}), "Silence after which a stream counts as lost."),
        RIVULET_KEY(tuning, send_timeout, (duration_rule{1ms, 24h, "for ever"}),
                    "Longest that a push waits for one consumer. Follows watchdog unless set."),
        RIVULET_KEY(tuning, linger, (duration_rule{0ms, 1h}),
                    "Longest that closing waits for the last samples to get out."),
        RIVULET_KEY(tuning, keepalive, (duration_rule{10ms, 1h}),
                    "Silence after which an outlet says that it lives; shorter than watchdog."),
        RIVULET_KEY(tuning, buffer, (duration_rule{1ms, 24h}), "History that an outlet and an inlet keep."),
        RIVULET_KEY(tuning, buffer_max_bytes, (bytes_rule{{64 * KiB, 1024 * GiB}}),
                    "Cap of that history; taken as it is used."),
        RIVULET_KEY(tuning, buffer_irregular_bytes, (bytes_rule{{64 * KiB, 1024 * GiB}}),
                    "History kept of streams without a regular rate."),
        RIVULET_KEY(tuning, max_frame, (bytes_rule{{4 * KiB, 2 * GiB}}),
                    "Largest frame accepted and largest single value, in bytes."),
        RIVULET_KEY(tuning, max_consumers, (count_rule{1, 65535}), "Consumers that an outlet accepts at once."),

        RIVULET_KEY(zmq, window_frames, (count_rule{1, 1024}), "Frames in flight to one consumer."),
        RIVULET_KEY(zmq, window_bytes, (bytes_rule{{64 * KiB, GiB}}), "Bytes in flight to one consumer."),
        RIVULET_KEY(zmq, max_sockets, (count_rule{16, 65535}), "Sockets of one context; an outlet needs about three."),

        RIVULET_KEY(sockopts, sndbuf, (bytes_rule{{0, GiB}}),
                    "Send buffer of each connection in bytes, the kernel's bookkeeping included; 0 = the kernel's."),
        RIVULET_KEY(sockopts, rcvbuf, (bytes_rule{{0, GiB}}), "Receive buffer likewise; 0 = grows with need."),
        RIVULET_KEY(sockopts, priority, (count_rule{0, 6}), "SO_PRIORITY of TCP connections."),

        RIVULET_KEY(posix, mode, (mode_rule{}), "Permissions of unix sockets, as chmod takes them."),
        RIVULET_KEY(posix, group, (text_rule{0, 64}), "Group of unix sockets; empty = the process's own."),

        RIVULET_KEY(security, required, (switch_rule{}),
                    "true: whatever would be plain is an error: posix links, zmq links without secret_key, beacons "
                    "without session_key."),
        RIVULET_KEY(security, secret_key, (text_rule{0, 4096}),
                    "File with this program's secret key: its zmq links are then authenticated and encrypted (CURVE); "
                    "empty = plain."),
        RIVULET_KEY(
            security, servers, (list_rule{1024, {1, 4096}}),
            "Public keys of outlets to connect to: \"curve-public:...\", or files with one a line. The own key is "
            "one of them."),
        RIVULET_KEY(security, clients, (list_rule{1024, {1, 4096}}),
                    "Public keys of consumers to let in, likewise; nobody else gets anything."),
        RIVULET_KEY(security, session_key, (text_rule{0, 4096}),
                    "File with the key that all programs of a lab share to authenticate beacons; empty = plain."),

        RIVULET_KEY(log, level, (choice_rule{{"auto", "trace", "debug", "info", "warn", "error", "off"}}),
                    "auto = warn in a program that uses the library, info in the stream-* programs."),
        RIVULET_KEY(log, format, (choice_rule{{"text", "json"}}), "json = one object a line."),
    };
    return all;
}

#undef RIVULET_KEY

} // namespace

std::string key::where() const { return fmt::format("[{}] {}", section, name); }

std::span<const section> sections() { return all_sections; }

std::span<const key> keys() { return table(); }

const key* find_key(std::string_view section, std::string_view name) {
    const auto& all = table();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const key& k) { return k.section == section && k.name == name; });
    return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> section_names() {
    std::vector<std::string_view> names(all_sections.size());
    std::transform(all_sections.begin(), all_sections.end(), names.begin(), [](const section& s) { return s.name; });
    return names;
}

std::vector<std::string_view> key_names(std::string_view section) {
    std::vector<std::string_view> names;
    for (const key& k : table())
        if (k.section == section)
            names.push_back(k.name);
    return names;
}

std::vector<conflict> conflicts(const config& settings) {
    std::vector<conflict> found;
    const std::uint16_t first = settings.ports.first;
    const std::uint16_t last = settings.ports.last;
    if ((first == 0) != (last == 0) || first > last)
        found.push_back(
            {find_key("ports", "last"), find_key("ports", "first"),
             fmt::format("first = {} and last = {} make no range; allowed: both 0, or first <= last", first, last)});
    for (const std::string& peer : settings.discovery.known_peers)
        if (!platform::parse_host_port(peer))
            found.push_back({find_key("discovery", "known_peers"), nullptr,
                             fmt::format("\"{}\" is no host; allowed: \"host\", \"host:port\", \"[address]:port\"",
                                         platform::printable(peer))});
    for (const std::string& host : settings.ports.advertise)
        if (const auto parsed = platform::parse_host_port(host); !parsed || parsed->port != 0)
            found.push_back({find_key("ports", "advertise"), nullptr,
                             fmt::format("\"{}\" is no host; allowed: a host name or an address, without a port",
                                         platform::printable(host))});
    const config::security_section& security = settings.security;
    if (security.required && security.secret_key.empty())
        found.push_back({find_key("security", "required"), find_key("security", "secret_key"),
                         "required = true, but secret_key names no file, so that links would be plain; make one with "
                         "stream-keygen"});
    if (security.required && security.session_key.empty() && settings.discovery.enabled)
        found.push_back(
            {find_key("security", "required"), find_key("security", "session_key"),
             "required = true, but session_key names no file, so that beacons would be plain; make one with "
             "stream-keygen --session-key, or set [discovery] enabled = false"});
    if (security.secret_key.empty() && !(security.servers.empty() && security.clients.empty()))
        found.push_back({find_key("security", security.servers.empty() ? "clients" : "servers"),
                         find_key("security", "secret_key"),
                         "keys of others are of no use without an own one: set secret_key, which stream-keygen makes"});
    if (settings.tuning.keepalive >= settings.tuning.watchdog)
        found.push_back(
            {find_key("tuning", "watchdog"), find_key("tuning", "keepalive"),
             fmt::format("watchdog is {} ms and keepalive {} ms, so every quiet stream would count as lost; "
                         "allowed: a keepalive shorter than watchdog",
                         settings.tuning.watchdog.count(), settings.tuning.keepalive.count())});
    return found;
}

} // namespace rivulet::settings
