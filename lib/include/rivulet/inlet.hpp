#pragma once

#include <rivulet/channel_format.hpp>
#include <rivulet/clock.hpp>
#include <rivulet/control.hpp>
#include <rivulet/error.hpp>
#include <rivulet/export.hpp>
#include <rivulet/options.hpp>
#include <rivulet/outlet.hpp>
#include <rivulet/resolver.hpp>
#include <rivulet/stream_info.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet {

enum class pull_status : std::uint8_t {
    data,    ///< `samples` samples were returned
    timeout, ///< none came in time; not an error
    ended    ///< the outlet closed and all of its samples were pulled; lost_before tells what was lost at the tail
};

/// What a pull got. A call never spans a gap or a segment: those fall between two results.
struct pull_result {
    std::size_t samples = 0;
    std::uint64_t first_sequence = 0; ///< of the first sample returned; samples are counted from the outlet's start
    std::uint64_t lost_before = 0;    ///< samples missing just before first_sequence
    bool new_segment = false;         ///< the first result from another outlet (uid) than the one before
    pull_status status = pull_status::timeout;

    explicit operator bool() const noexcept { return status == pull_status::data; }
};

struct inlet_stats {
    std::uint64_t samples = 0; ///< received from the outlet
    std::uint64_t pulled = 0;
    std::uint64_t lost = 0;       ///< missing in what was received, or dropped here for lack of room; as far as pulled
    std::uint64_t buffered = 0;   ///< waiting to be pulled
    std::uint64_t frames = 0;     ///< of data; none where the outlet's own buffer is read (async inproc)
    std::uint64_t bytes = 0;      ///< of those frames
    std::uint64_t reconnects = 0; ///< greetings after the first
    std::uint64_t ignored = 0;    ///< malformed, unknown or unexpected frames
    bool connected = false;
};

namespace detail {
class inlet_impl;
class view_state;
} // namespace detail

/// A chunk seen where it lies in the inlet's buffer, without a copy; keeps it alive. Fixed-size formats only.
class RIVULET_API chunk_view {
public:
    chunk_view() noexcept;
    ~chunk_view();
    chunk_view(chunk_view&&) noexcept;
    chunk_view& operator=(chunk_view&&) noexcept;

    const pull_result& result() const noexcept { return result_; }
    explicit operator bool() const noexcept { return static_cast<bool>(result_); }
    /// [samples x channels], row-major. @throws error format_mismatch: T is not the stream's format.
    template<numeric_value T>
    std::span<const T> values() const {
        check(format_of<T>());
        return {static_cast<const T*>(data_), count_};
    }
    std::span<const std::byte> bytes() const noexcept;
    std::span<const double> stamps() const noexcept { return stamps_; }

private:
    friend class inlet;
    friend class detail::inlet_impl;
    void check(channel_format wanted) const;

    std::unique_ptr<detail::view_state> state_;
    pull_result result_{};
    channel_format format_ = channel_format::float32;
    const void* data_ = nullptr;
    std::size_t count_ = 0;
    std::span<const double> stamps_;
};

/// The consumer's end of a stream. The constructor returns when the outlet has registered it: the very next push
/// reaches it. Numeric elements are converted to the type pulled (rounded to nearest, ties to even, saturated, NaN to
/// 0 for integers).
/// Threads: pull and friends from one thread at a time; stats and close from any. After fork: as outlet.
class RIVULET_API inlet {
public:
    /// Connects to one endpoint of an outlet and waits until it answered. @throws error: bad_endpoint, not_connected
    /// (naming the endpoint and how long it waited), not_supported.
    explicit inlet(std::string_view endpoint, inlet_options options = {});
    /// Opens a stream that was found: over a unix socket if it can be opened from here, else over the first of its
    /// endpoints that answers and is this very stream. @throws error: as above, naming all endpoints tried.
    explicit inlet(const found_stream& stream, inlet_options options = {});
    /// Never throws, never hangs.
    ~inlet();
    inlet(inlet&&) noexcept;
    inlet& operator=(inlet&&) noexcept;

    /// The stream, as the outlet describes it. Changes with a new segment.
    stream_info info() const;
    const std::string& endpoint() const noexcept; ///< the latest: a lost stream may be found elsewhere. Stays valid

    /// Fills `values` ([samples x channels], size a multiple of channel_count) and `stamps` (one a sample; may be
    /// empty when they are not wanted) with what is there; returns as soon as there is one sample.
    /// @throws error shape_mismatch, format_mismatch (not numeric), closed; stream_lost.
    template<numeric_value T>
    pull_result pull_chunk(std::span<T> values, std::span<double> stamps, std::chrono::nanoseconds timeout = forever) {
        return pull_numeric(values.data(), format_of<T>(), values.size(), stamps, timeout);
    }
    /// The same into vectors, which are resized to what came; at most `max_samples`.
    template<numeric_value T>
    pull_result pull_chunk(std::vector<T>& values, std::vector<double>& stamps,
                           std::chrono::nanoseconds timeout = forever, std::size_t max_samples = 4096) {
        const std::size_t room = wait_for_samples(max_samples, timeout);
        values.resize(room * channel_count());
        stamps.resize(room);
        return pull_numeric(values.data(), format_of<T>(), values.size(), stamps, std::chrono::nanoseconds(0));
    }
    /// String and blob streams: `values` gets samples x channels elements.
    pull_result pull_chunk(std::vector<std::string>& values, std::vector<double>& stamps,
                           std::chrono::nanoseconds timeout = forever, std::size_t max_samples = 4096);

    /// One sample. @param sample channel_count values.
    template<numeric_value T>
    pull_result pull_sample(std::span<T> sample, double& stamp, std::chrono::nanoseconds timeout = forever) {
        return pull_numeric_sample(sample.data(), format_of<T>(), sample.size(), stamp, timeout);
    }
    template<numeric_value T>
    pull_result pull_sample(std::vector<T>& sample, double& stamp, std::chrono::nanoseconds timeout = forever) {
        sample.resize(channel_count());
        return pull_numeric_sample(sample.data(), format_of<T>(), sample.size(), stamp, timeout);
    }
    template<numeric_value T>
    pull_result pull_sample(T& value, double& stamp, std::chrono::nanoseconds timeout = forever) {
        return pull_numeric_sample(&value, format_of<T>(), 1, stamp, timeout);
    }
    pull_result pull_sample(std::vector<std::string>& sample, double& stamp,
                            std::chrono::nanoseconds timeout = forever);
    /// One sample of a one-channel string or blob stream.
    pull_result pull_sample(std::string& text, double& stamp, std::chrono::nanoseconds timeout = forever);

    /// A chunk of at most `max_samples` in place. @throws error not_supported for strings and blobs.
    chunk_view pull_view(std::chrono::nanoseconds timeout = forever, std::size_t max_samples = SIZE_MAX);

    /// Samples that a pull would return without waiting (over several calls, if there are gaps).
    std::size_t samples_available() const;
    /// Drops all samples that are there; returns how many. They do not count as lost.
    std::size_t flush();

    /// Readable while there is something to pull, or the stream ended. For poll, epoll and event loops: pull with
    /// timeout 0 until it returns timeout, then wait again. Owned by the inlet.
    int wait_fd() const;

    std::size_t channel_count() const noexcept;
    /// Sequence number of the sample that the next pull brings, if none is lost. Threads: as pull.
    std::uint64_t next_sequence();
    inlet_stats stats() const;

    /// Sends a control message to the outlet's handler (outlet::on_control) and waits for its reply; nothing: it is not
    /// known whether it was handled (no reply in time, or the outlet died). It is never sent twice.
    /// Threads: any; not a callback on the I/O thread. @throws error limit_exceeded: more than max_control_bytes;
    /// closed; invalid_argument: called on the I/O thread.
    std::optional<control_reply> send_control(std::span<const std::byte> data, const control_options& options = {});
    /// The same without waiting: many may be on their way. `callback` is called once, on the I/O thread (be brief) or,
    /// by close, on its thread; what is known at once is told before this returns. It may destroy the inlet.
    void post_control(std::span<const std::byte> data, const control_options& options,
                      std::function<void(std::optional<control_reply>)> callback);
    /// The outlet's own counters; nothing when it does not answer in time. Threads: as send_control.
    std::optional<outlet_stats> remote_stats(std::chrono::nanoseconds timeout) const;
    /// The clock of the outlet's host: measured at the first call, in some round trips, and kept up to date from then
    /// on; nothing when there was no answer in time. With 0 it never waits: what is known by now. Threads: as
    /// send_control; with 0 any.
    std::optional<clock_offset> time_correction(std::chrono::nanoseconds timeout) const;
    /// For recorders: the measurements of that clock since the last call, oldest first (at most the last 1024, one
    /// each 4 s). The first call begins to measure, if nothing else did, and gives at most the latest. Never waits.
    /// Threads: any. @throws error closed.
    std::vector<clock_record> take_clock_records();

    /// A stamp as it was pulled, as nanoseconds since the Unix epoch, for files and people: by this host's wall clock
    /// and the outlet's clock, which the first call measures (some round trips; waits at most 1 s, and where nobody
    /// answers takes it to be ours). Threads: any but the I/O thread's callbacks.
    std::int64_t to_unix_ns(double stamp) const;

    /// Wakes a blocked pull (which throws closed) and disconnects. Idempotent.
    void close();

private:
    friend RIVULET_API std::vector<std::size_t> wait_any(std::span<inlet* const>, std::chrono::nanoseconds);
    /// How many samples the next pull will return, at most `max_samples`; waits for the first.
    std::size_t wait_for_samples(std::size_t max_samples, std::chrono::nanoseconds timeout);
    pull_result pull_numeric(void* values, channel_format element, std::size_t count, std::span<double> stamps,
                             std::chrono::nanoseconds timeout);
    pull_result pull_numeric_sample(void* values, channel_format element, std::size_t count, double& stamp,
                                    std::chrono::nanoseconds timeout);

    std::unique_ptr<detail::inlet_impl> impl_;
};

/// Waits until one of the inlets has something to pull, or ended. Returns their indices; empty when time is up.
RIVULET_API std::vector<std::size_t> wait_any(std::span<inlet* const> inlets, std::chrono::nanoseconds timeout);

} // namespace rivulet
