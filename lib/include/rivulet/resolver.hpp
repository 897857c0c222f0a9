#pragma once

#include <rivulet/clock.hpp>
#include <rivulet/context.hpp>
#include <rivulet/error.hpp>
#include <rivulet/export.hpp>
#include <rivulet/stream_info.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rivulet {

/// A stream that is advertised on the network. A plain value; pass it to an inlet to open it.
struct found_stream {
    stream_info info{}; ///< without desc, which the open inlet has
    /// Where it can be reached from here, best first; hosts are those that its beacons came from.
    std::vector<std::string> endpoints{};
    std::vector<std::string> service{}; ///< where requests are answered, likewise
};

/// Which ways of a stream are meant, where relays repeat it (stream_info::relays).
enum class via : std::uint8_t {
    direct, ///< the shortest that is there: its outlet, or else the one that has passed the fewest relays
    any     ///< all of them, each as a stream
};

/// Which streams are meant. Globs: `*` any text, `?` any one character, `[a-z]` one of, `\` takes the next literally;
/// everything else, quotes among it, stands for itself. Upper and lower case differ. Empty: any.
struct stream_selector {
    std::string name{};
    std::string type{};
    std::string source_id{};
    std::string uid{};
    via way = via::direct;
    /// Asked last, if set: any further condition. Runs on the I/O thread: must be brief and not call the library.
    std::function<bool(const found_stream&)> where{};
};

/// Whether the selector means this stream, whatever way it came.
RIVULET_API bool matches(const stream_selector& selector, const found_stream& stream);
/// `name "EEG*", type "EEG"`: for messages; "any stream" for an empty one.
RIVULET_API std::string to_string(const stream_selector& selector);

struct resolve_options {
    /// Returns as soon as there are so many; relayed ones count only once their originals would have answered. 0:
    /// returns when all who answered have told everything and nobody new was heard for 0.3 s (more time finds more
    /// where datagrams get lost).
    std::size_t minimum = 1;
    /// Returns at this time at the latest, with what there is.
    std::chrono::nanoseconds timeout = std::chrono::seconds(2);
    /// Unset: context::default_context().
    std::optional<context> ctx{};
};

/// The streams that match, in the order of name and source id; empty when there are none in time, which is no error.
/// The first come within milliseconds, as outlets are asked. @throws error not_supported: [discovery] enabled is false.
RIVULET_API std::vector<found_stream> resolve(const stream_selector& selector, const resolve_options& options = {});

/// The first stream that matches. @throws error not_connected: there was none in time; names what was seen instead.
RIVULET_API found_stream resolve_one(const stream_selector& selector,
                                     std::chrono::nanoseconds timeout = std::chrono::seconds(2),
                                     const std::optional<context>& ctx = std::nullopt);

/// A change of what is there.
struct stream_event {
    enum class kind : std::uint8_t {
        appeared,
        changed,    ///< other endpoints, or another description
        disappeared ///< closed, or not heard of for three beacon intervals
    };
    kind what = kind::appeared;
    found_stream stream{};
};

namespace detail {
class resolver_impl;
}

/// Keeps an eye on the streams that match, from its construction to its end. Threads: any.
/// After fork the child's handle is inert: it sees nothing more.
class RIVULET_API resolver {
public:
    /// @throws error not_supported: [discovery] enabled is false.
    explicit resolver(stream_selector selector = {}, std::optional<context> ctx = std::nullopt);
    ~resolver();
    resolver(resolver&&) noexcept;
    resolver& operator=(resolver&&) noexcept;

    /// What is there now, in the order of name and source id.
    std::vector<found_stream> streams() const;
    /// What changed since the last call; streams found first are reported as appeared.
    std::vector<stream_event> take_events();
    /// Called for every change from now on, on the I/O thread: must be brief and must not destroy the resolver. Streams
    /// that are there already are reported from the calling thread before it returns. An empty function ends it.
    void on_event(std::function<void(const stream_event&)> callback);

    /// Waits until streams() has `count`, where relayed ones count once settled(); false when time is up first, or
    /// another thread called close().
    bool wait_for(std::size_t count, std::chrono::nanoseconds timeout) const;
    /// Waits until all who answered have told everything and nobody new was heard for 0.3 s; false as wait_for.
    bool wait_until_settled(std::chrono::nanoseconds timeout) const;
    bool settled() const;
    /// Readable while there are events to take, and when the search has settled, until take_events() is called. For
    /// poll and event loops; owned by the resolver.
    int wait_fd() const;
    /// Names of some streams that are there and do not match, for messages.
    std::vector<std::string> others() const;

    /// Ends the search and wakes those who wait. Idempotent.
    void close();

private:
    std::unique_ptr<detail::resolver_impl> impl_;
};

} // namespace rivulet
