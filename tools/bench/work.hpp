#pragma once

#include <rivulet/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rivulet::tools::bench {

/// What carries the bytes between two processes.
enum class carrier : std::uint8_t { posix_tcp, posix_unix, zmq_tcp, zmq_ipc };

/// Who does the work: ours, or a loop that does the same with nothing between it and what it uses.
enum class way : std::uint8_t {
    async,         ///< an async outlet, which drops the oldest when an inlet lags
    async_wait,    ///< an async outlet with on_full::wait: loses nothing
    sync,          ///< a sync outlet
    plain,         ///< writev a chunk and consumer, recv on the other side
    plain_batched, ///< the same, but chunks are gathered into 64 KiB before they are written
    zmq_copied,    ///< libzmq: one message a chunk, copied into it
    zmq_zero_copy, ///< libzmq: head, and the payload from where it lies
    zmq_released,  ///< the same, waiting each time until libzmq has released the payload
    nothing        ///< sends nothing: what pacing alone costs
};

const std::vector<carrier>& all_links();
constexpr bool is_zmq(carrier c) noexcept { return c == carrier::zmq_tcp || c == carrier::zmq_ipc; }
constexpr bool is_ours(way w) noexcept { return w == way::async || w == way::async_wait || w == way::sync; }
/// "posix+tcp", as in an endpoint.
const char* to_string(carrier c) noexcept;
const char* to_string(way w) noexcept;
/// Where an outlet of a measurement listens: any port of this host, or a socket at `path`.
std::string own_endpoint(carrier c, const std::string& path);
/// Of a process's stream of that number: else each outlet warns that it has none.
std::string own_source_id(std::uint64_t number);

/// The loop that does what `w` does over `c` without Rivulet.
way baseline_of(way w, carrier c) noexcept;

/// One transfer: a publisher and its subscribers, each in a process of its own.
struct work {
    way how = way::async;
    carrier over = carrier::posix_tcp;
    std::uint64_t channels = 1;
    bool int16 = false;      ///< values are int16, else float32
    std::uint64_t chunk = 1; ///< samples a push
    double rate_hz = 0;      ///< samples a second and stream; 0 = as fast as it goes
    std::uint64_t consumers = 1;
    std::uint64_t streams = 1; ///< each consumer takes all of them
    double warm_up_s = 0;      ///< pushed before that, and left out of all rates and costs
    double seconds = 0.5;      ///< how long is pushed
    std::uint64_t max_chunks = UINT64_MAX;
    bool given_stamps = false; ///< the caller counts the stamps on, instead of reading the clock at each push
    bool copy_out = false;     ///< plain loops: the receiver copies the payload once, as pull_chunk does
    bool latency = false;      ///< note the age of each chunk at its arrival
    bool counted = false;      ///< count system calls and allocations, which slows everything down
    std::size_t buffer_bytes = 16u << 20; ///< the outlet's history and the inlet's room
    std::chrono::nanoseconds busy_poll{0};

    std::size_t value_bytes() const noexcept { return int16 ? 2 : 4; }
    std::size_t sample_bytes() const noexcept { return value_bytes() * channels; }
    std::size_t chunk_bytes() const noexcept { return sample_bytes() * chunk; }
};

} // namespace rivulet::tools::bench
