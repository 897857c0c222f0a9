#pragma once

#include <rivulet/channel_format.hpp>
#include <rivulet/clock.hpp>
#include <rivulet/control.hpp>
#include <rivulet/error.hpp>
#include <rivulet/export.hpp>
#include <rivulet/options.hpp>
#include <rivulet/stream_info.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet {

/// A consumer came or went.
struct consumer_event {
    enum class kind : std::uint8_t {
        joined, ///< it gets every sample from `sequence` on
        left,   ///< it closed, or its connection ended
        kicked  ///< it was disconnected: it did not take its bytes within send_timeout, or broke a limit
    };
    kind what = kind::joined;
    std::string id;             ///< 32 hexadecimal digits, new for each connection
    std::string name;           ///< as the inlet calls itself; empty when it does not say
    std::string address;        ///< where it comes from; empty for inproc
    std::string link;           ///< the outlet's endpoint it came to
    std::uint64_t sequence = 0; ///< of the next sample at that moment
};

/// One consumer's share of outlet_stats.
struct consumer_stats {
    std::string id, name, address, link;
    std::uint64_t sent = 0;    ///< samples handed to its connection; async inproc: pulled
    std::uint64_t dropped = 0; ///< samples it lost by being too slow
    std::uint64_t lag = 0;     ///< samples that still wait for it
};

struct outlet_stats {
    std::uint64_t pushed = 0;            ///< samples
    std::uint64_t sent = 0;              ///< samples handed to connections, summed over all consumers there ever were
    std::uint64_t dropped = 0;           ///< samples lost by slow consumers, summed likewise
    std::uint64_t consumers = 0;         ///< consumers there ever were
    std::uint64_t kicked = 0;            ///< consumers disconnected for being too slow
    std::uint64_t ignored = 0;           ///< malformed or unknown messages received
    std::uint64_t refused = 0;           ///< connections that proved no key that is let in ([security])
    std::vector<consumer_stats> current; ///< those connected now
};

namespace detail {

template<class R>
concept numeric_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    numeric_value<std::remove_cv_t<std::ranges::range_value_t<R>>>;

template<class R>
concept text_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    (std::is_same_v<std::remove_cv_t<std::ranges::range_value_t<R>>, std::string> ||
     std::is_same_v<std::remove_cv_t<std::ranges::range_value_t<R>>, std::string_view>);

class outlet_impl;

} // namespace detail

/// The producer's end of a stream: listens on its endpoints from construction on and sends what is pushed to every
/// consumer. Consumers may come and go at any time.
///
/// Chunks are [samples x channels], row-major. Elements of another numeric type than the stream's are converted in
/// async mode (rounded to nearest, ties to even, saturated, NaN to 0 for integer formats) and refused in sync mode.
/// Threads: push from any thread, one at a time (serialised by a mutex); everything else from any thread.
/// After fork the child's handle is inert: calls throw closed, the destructor does nothing.
class RIVULET_API outlet {
public:
    /// Listens when it returns. @throws error: invalid_argument (naming the field of info), bad_endpoint,
    /// address_in_use, path_too_long, not_supported (sync with strings).
    explicit outlet(stream_info info, outlet_options options = {});
    /// Sends what is left for at most `linger`, tells the consumers that the stream ended. Never throws, never hangs.
    ~outlet();
    outlet(outlet&&) noexcept;
    outlet& operator=(outlet&&) noexcept;

    /// Pushes one sample. @param sample channel_count values. @param stamp seconds on local_clock(); now = the clock.
    /// @throws error shape_mismatch, format_mismatch, closed, invalid_argument (NaN stamp).
    template<detail::numeric_range R>
    void push_sample(const R& sample, double stamp = now) {
        using value = std::remove_cv_t<std::ranges::range_value_t<R>>;
        push_one(std::ranges::data(sample), format_of<value>(), std::ranges::size(sample), stamp);
    }
    /// One sample of a one-channel numeric stream.
    template<numeric_value T>
    void push_sample(T value, double stamp = now) {
        push_one(&value, format_of<T>(), 1, stamp);
    }
    /// One sample of a one-channel string stream. @throws also limit_exceeded: longer than max_frame.
    void push_sample(std::string_view text, double stamp = now);
    /// One sample of a string stream with several channels.
    template<detail::text_range R>
    void push_sample(const R& sample, double stamp = now) {
        push_text(std::ranges::data(sample), std::ranges::size(sample), stamp, true);
    }
    /// One sample of a blob stream.
    void push_sample(std::span<const std::byte> bytes, double stamp = now);

    /// Pushes a chunk. @param stamp of the LAST sample; sample i of n gets stamp - (n-1-i)/rate (rate 0: all get it).
    template<detail::numeric_range R>
    void push_chunk(const R& values, double stamp = now) {
        using value = std::remove_cv_t<std::ranges::range_value_t<R>>;
        push_many(std::ranges::data(values), format_of<value>(), std::ranges::size(values), stamp);
    }
    /// Pushes a chunk with one stamp a sample. @throws error shape_mismatch: stamps.size() != samples.
    template<detail::numeric_range R>
    void push_chunk(const R& values, std::span<const double> stamps) {
        using value = std::remove_cv_t<std::ranges::range_value_t<R>>;
        push_many(std::ranges::data(values), format_of<value>(), std::ranges::size(values), stamps);
    }
    template<detail::text_range R>
    void push_chunk(const R& values, double stamp = now) {
        push_text(std::ranges::data(values), std::ranges::size(values), stamp, false);
    }
    template<detail::text_range R>
    void push_chunk(const R& values, std::span<const double> stamps) {
        push_text(std::ranges::data(values), std::ranges::size(values), stamps);
    }

    bool has_consumers() const;
    /// Consumers that said hello on any endpoint. Plain subscribers without a hello get data, but are not counted.
    std::size_t consumer_count() const;
    /// Waits until there are `count` consumers; false when the time is up first, or the outlet is stopped.
    /// The very next push reaches every consumer counted.
    bool wait_for_consumers(std::chrono::nanoseconds timeout, std::size_t count = 1) const;
    /// Called when a consumer joins or leaves, one event at a time, on the I/O thread or, for inproc, on the inlet's:
    /// be brief, and neither stop nor destroy the outlet in it. Consumers that are there already are reported at once,
    /// from the calling thread; each is reported once. An empty function ends it: the one before does not run any more
    /// when this returns.
    void on_consumer(std::function<void(const consumer_event&)> callback);

    /// Takes control messages from consumers (inlet::send_control). The handler runs on `thread`, one request at a
    /// time; its reply goes to who asked only, and what it throws is told to that one as `failed`. On a thread of its
    /// own it may take its time: 256 requests wait meanwhile, more are answered with `busy`. An empty function ends it.
    /// The one before does not run any more when this returns, unless this is called from it.
    /// Closing waits for a handler at most `linger`. @throws error system.
    void on_control(std::function<control_reply(const control_request&)> handler,
                    control_thread thread = control_thread::own);

    /// Waits until all that was pushed is handed to the connections of all consumers; false when time is up first, or
    /// the outlet is stopped. Async inproc:// consumers read the outlet's own buffer: they have what they have pulled.
    bool flush(std::chrono::nanoseconds timeout) const;

    /// Begins a new segment: a new uid, and sequence numbers from 0. Consumers first get what was pushed before, then
    /// the new info; their next pull says new_segment. The history before is not kept for anybody who comes later.
    /// @throws error closed. Threads: any; waits for a push under way.
    void reset_uid();
    /// The same for who repeats another stream: takes desc, origin and relays from `next`, whose name, format, channels
    /// and rate have to be the outlet's own, and begins with that sequence number. @throws error invalid_argument;
    /// not_supported (sync with a first_sequence other than 0); closed.
    void begin_segment(const stream_info& next, std::uint64_t first_sequence);
    /// The next sample pushed has this sequence number: those in between are lost for every consumer, which is told so.
    /// @throws error invalid_argument (samples of that number have been pushed), closed, not_supported: sync delivery,
    /// inproc:// endpoints.
    void skip_to(std::uint64_t sequence);

    /// The stream as consumers see it now. The reference is valid until the next reset_uid.
    const stream_info& info() const noexcept;
    /// The endpoints in use, in the order of the options, with actual ports, in a form that connects from this host.
    std::vector<std::string> endpoints() const;
    /// Where requests about this outlet are answered; hosts are `*` where it listens on all interfaces.
    std::vector<std::string> service_endpoints() const;
    outlet_stats stats() const;

    /// Wakes a blocked push (which throws closed) and ends the stream as the destructor does. Idempotent.
    void stop();
    /// The same with another linger than the options'.
    void stop(std::chrono::nanoseconds linger);

private:
    void push_one(const void* values, channel_format element, std::size_t count, double stamp);
    void push_many(const void* values, channel_format element, std::size_t count, double stamp);
    void push_many(const void* values, channel_format element, std::size_t count, std::span<const double> stamps);
    void push_text(const std::string* values, std::size_t count, double stamp, bool one_sample);
    void push_text(const std::string_view* values, std::size_t count, double stamp, bool one_sample);
    void push_text(const std::string* values, std::size_t count, std::span<const double> stamps);
    void push_text(const std::string_view* values, std::size_t count, std::span<const double> stamps);

    std::unique_ptr<detail::outlet_impl> impl_;
};

} // namespace rivulet
