#pragma once

#include <rivulet/clock.hpp>
#include <rivulet/context.hpp>
#include <rivulet/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rivulet {

/// How push gets samples to consumers.
enum class delivery : std::uint8_t {
    async, ///< push copies into the sample log and returns; an I/O thread sends. Default
    sync   ///< push sends from the caller's memory and returns when nobody refers to it any more. No history
};

/// What an async push does when the log is full of samples that a consumer has not got yet.
enum class on_full : std::uint8_t {
    drop_oldest, ///< never waits: slow consumers lose their oldest samples, counted. Default
    wait         ///< waits at most send_timeout for the slow ones, then they are no longer waited for until caught up
};

/// What an inlet does when its buffer is full of samples that nobody has pulled.
enum class when_full : std::uint8_t {
    drop_oldest, ///< the oldest samples go, counted in lost_before. Default
    hold,        ///< stops reading, so that the outlet feels it: the only way that sync is lossless end to end
    latest       ///< pull always gets the newest sample only; those skipped count as lost
};

/// Where a new inlet begins.
struct start_at {
    /// 0 = with the first sample pushed after the inlet is open; otherwise that much of the outlet's history first.
    std::chrono::nanoseconds history{0};

    static constexpr start_at now() { return {}; }
    static constexpr start_at all_history() { return {std::chrono::nanoseconds::max()}; }
    static constexpr start_at last(std::chrono::nanoseconds duration) { return {duration}; }
};

/// A buffer's size: a duration (regular streams) or a number of bytes, by its type.
using buffer_size = std::variant<std::chrono::nanoseconds, std::size_t>;

struct outlet_options {
    /// Where to listen: zmq+tcp://host:port, zmq+ipc:///path, inproc://name; `*` as host = all interfaces, as port =
    /// ephemeral. Several are served at once.
    std::vector<std::string> endpoints = {"zmq+tcp://*:*"};
    /// sync refuses strings. Cost of async: one copy into the log; of sync: the push lasts as long as the slowest send.
    delivery mode = delivery::async;
    on_full full = on_full::drop_oldest;
    /// History kept for consumers that lag. Unset: [tuning] buffer, capped (10 s, 256 MiB; irregular 16 MiB).
    /// Memory is taken as it is used and bounded by this + one segment (at most 1 MiB) a consumer.
    std::optional<buffer_size> buffer{};
    /// Longest that a push waits for one consumer; then that one is disconnected (sync) or no longer waited for
    /// (async with on_full::wait). rivulet::forever = no limit. Unset: [tuning] send_timeout (15 s).
    std::optional<std::chrono::nanoseconds> send_timeout{};
    /// Longest that closing waits for the last samples to reach consumers. Unset: [tuning] linger (1 s).
    std::optional<std::chrono::nanoseconds> linger{};
    /// Largest frame sent and largest single value, bytes. Unset: [tuning] max_frame (64 MiB).
    std::optional<std::size_t> max_frame{};
    /// Consumers accepted at once. Unset: [tuning] max_consumers (1000).
    std::optional<std::uint32_t> max_consumers{};
    /// Sequence number of the first sample: other than 0 for who repeats a stream that has begun. async only.
    std::uint64_t first_sequence = 0;
    /// Unset: context::default_context().
    std::optional<context> ctx{};
};

/// What is done to stamps as they are pulled. All false: they come as the outlet sent them, on its clock.
struct stamp_options {
    /// Brings them to this host's local_clock(), by measuring the outlet's clock: the constructor waits some round
    /// trips for that, then it goes on in the background (some datagrams every 4 s). A new measurement makes no step.
    bool clocksync = false;
    /// Smooths the jitter of a stream of regular rate: stamps become even, in the mean where they were. Begins anew
    /// after gaps, flushes and resets of the clock. Cost: some ns a sample.
    bool dejitter = false;
    /// They never go back; meant for use after dejitter.
    bool monotonize = false;
};

struct inlet_options {
    /// Shown to the outlet's on_consumer. Default: the program's name and process id.
    std::string name{};
    when_full full = when_full::drop_oldest;
    start_at start = start_at::now();
    stamp_options stamps{};
    /// Samples kept until they are pulled. Unset: as an outlet's buffer. An async outlet's inproc:// inlets read its
    /// own log: what they keep is the outlet's `buffer`, at no further memory.
    std::optional<buffer_size> max_buffered{};
    /// How long the constructor waits for the outlet to answer; either start order works within it.
    std::chrono::nanoseconds open_timeout = std::chrono::seconds(10);
    /// Silence after which the outlet counts as lost, although its connection did not end. Unset: [tuning] watchdog
    /// (15 s).
    std::optional<std::chrono::nanoseconds> lost_after{};
    /// How long a lost outlet is looked for; meanwhile pull waits for more. It goes on without a gap as far as the
    /// outlet's history reaches (async), and with a new segment if it is another outlet of the same source id. Then, or
    /// at once with 0, pull throws stream_lost. Unset: rivulet::forever for a stream with a source id, else lost_after.
    std::optional<std::chrono::nanoseconds> recover_for{};
    /// Largest frame accepted, bytes. Unset: [tuning] max_frame (64 MiB).
    std::optional<std::size_t> max_frame{};
    /// A waiting pull spins this long before it sleeps: less latency for a whole core. Default 0: never spins.
    std::chrono::nanoseconds busy_poll{0};
    /// Unset: context::default_context().
    std::optional<context> ctx{};
};

} // namespace rivulet
