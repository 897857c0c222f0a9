#pragma once

#include "platform/futex.hpp"
#include "samples/sample_log.hpp"
#include "transport/drain_watch.hpp"
#include "transport/stream_segments.hpp"
#include "wire/frame.hpp"

#include <rivulet/options.hpp>
#include <rivulet/outlet.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The one interface between core and the backends. core makes links by endpoint string and knows no backend's name.
///
/// An outlet has one outlet_link an endpoint. In async mode the link reads the outlet's sample log by itself, with one
/// cursor a consumer, on the context's I/O thread; in sync mode the pushing thread hands it one frame at a time. An
/// inlet has one inlet_link, which is pumped by the I/O thread, or by a thread that waits in pull.
namespace rivulet::transport {

using platform::time_point;

class io_context;

// --- outlet's side --------------------------------------------------------------------------------------------------

/// What an outlet gives to its links; outlives them. The functions may be called from any thread, but not with a lock
/// of the link held that its public operations take.
struct outlet_environment {
    std::shared_ptr<io_context> io;
    const stream_info* info = nullptr; ///< as it was at first: all but its uid holds for all segments
    std::shared_ptr<stream_segments> segments;
    std::vector<std::string> service;         ///< where requests are answered, inproc included
    std::shared_ptr<samples::sample_log> log; ///< async; null in sync mode
    std::shared_ptr<drain_watch> drains;      ///< to be told when drained() may have become true
    bool wait_for_slow = false;               ///< async, on_full::wait
    std::chrono::nanoseconds send_timeout{};
    std::size_t max_frame = 0;
    std::uint32_t max_consumers = 0;
    std::function<void(const consumer_event&)> on_consumer; ///< told of every change, in order
};

/// The info frame of an outlet whose next sample is `next` of that segment. Only inproc consumers are told of inproc
/// services.
wire::info_frame describe_stream(const outlet_environment& environment, const stream_segment& segment,
                                 std::uint64_t next, bool inproc);

/// Where a new consumer begins: a position in the log, and its segment.
struct start_point {
    segment_share segment;
    std::uint64_t position = 0;

    std::uint64_t sequence() const noexcept { return position - segment->base; }
};
/// As its hello asks; nullptr: with the next sample. Async.
start_point start_of(const outlet_environment& environment, const wire::hello* hello);

/// One frame of a sync push: the payload lies in the caller's memory.
struct sync_frame {
    wire::data_header header;
    wire::data_head head; ///< encoded once for all links; lies on the pushing thread's stack
    wire::bytes_view
        prefix; ///< what comes before the payload in its bin (a blob's offsets); on the stack, to be copied
    wire::bytes_view payload;
};

/// Descriptors that a waiting push polls, and when to look again at the latest.
struct poll_set {
    std::vector<pollfd> fds;
    time_point wake_at = time_point::max();

    void clear() {
        fds.clear();
        wake_at = time_point::max();
    }
    void add(int fd, short events) { fds.push_back({fd, events, 0}); }
    void at(time_point when) { wake_at = std::min(wake_at, when); }
    /// Polls until something is ready or wake_at; timeouts are rounded up.
    void wait(time_point now);
};

class outlet_link {
public:
    virtual ~outlet_link() = default;

    /// The endpoint with its actual port or path, in a form that connects from this host. Constant.
    virtual const std::string& endpoint() const noexcept = 0;

    /// Consumers that said hello and are served now. Any thread.
    virtual std::size_t consumer_count() const = 0;
    /// Adds this link's share to `stats` (totals and current consumers). Any thread.
    virtual void add_stats(outlet_stats& stats) const = 0;
    /// Everything published so far is handed over, and nothing waits in our own buffers. Any thread. When it becomes
    /// true later, environment.drains is told.
    virtual bool drained() const = 0;

    /// Sync: hands the frame to every consumer without waiting on any. The payload must stay until progress() said so.
    /// Pushing thread only, as progress and abort.
    virtual void begin_send(const sync_frame& frame, time_point deadline) = 0;
    /// Sync: goes on with what begin_send began. True: nothing refers to the payload any more. False: wait on what was
    /// added to `wait`, then call again. Consumers past their deadline are disconnected here.
    virtual bool progress(time_point now, poll_set& wait) = 0;
    /// Sync: disconnects all that have not taken the frame yet; progress() ends soon after.
    virtual void abort_send() = 0;
    /// Sync: the bytes are in the kernel when begin_send returns, as a rule; such links go first.
    virtual bool sends_directly() const noexcept { return false; }

    /// The outlet's stream has come to another segment: consumers are told of it when they get there. The log, if there
    /// is one, has all samples of the one before; no push is under way. Any thread.
    virtual void begin_segment() = 0;

    /// Stops accepting, drains until `deadline`, tells consumers that the stream ended, disconnects. Blocks at most
    /// until about the deadline; idempotent. No operation but the destructor follows. Calling thread: not the I/O
    /// thread's handlers of this link.
    virtual void close(time_point deadline) = 0;
};

// --- inlet's side ---------------------------------------------------------------------------------------------------

/// Where a stream is to go on when its connection is made again.
struct resume_point {
    wire::token id{};           ///< of the consumer: new for each connection
    std::string uid;            ///< of the outlet; empty: nothing to resume
    std::uint64_t sequence = 0; ///< of the first sample wanted
};

/// What a link does after a greeting.
enum class greeting_answer : std::uint8_t {
    go_on,
    try_again, ///< somebody else answered: disconnect, and look again later whether it is the right one
    close      ///< cannot go on with this stream
};

/// Where an inlet_link delivers what it receives. Called by the thread that pumps, or, where a link says so, by the
/// outlet's pushing thread; one at a time.
class frame_sink {
public:
    virtual ~frame_sink() = default;
    /// The outlet answered: this is the stream, and the sequence of the first sample that will come. Called again
    /// after each reconnect, and when the outlet has come to another segment. `shared`: a cursor in the outlet's own
    /// log, to be read in place of what on_data would deliver (positions are sequence numbers); owned by the link until
    /// its destruction, used by the pulling thread.
    virtual greeting_answer on_greeting(const wire::info_frame& info, std::uint64_t next_sequence,
                                        samples::log_reader* shared) = 0;
    /// What a hello should ask for. Asked before each connection.
    virtual resume_point where_to_resume() = 0;
    /// Room for another frame? If not, the link stops reading until pump() is called again.
    virtual bool ready_for_data() = 0;
    virtual void on_data(const wire::data_view& frame, std::size_t wire_bytes) = 0;
    virtual void on_status(const wire::status_frame& frame) = 0;

    /// For links that can receive into memory of the sink's: a data frame of which `begun.payload` has come. True: the
    /// rest of its payload_bytes goes to payload_room(), piece by piece. False: the whole frame is wanted, by on_data.
    virtual bool on_data_begun(const wire::data_view& begun, std::size_t payload_bytes, std::size_t wire_bytes) = 0;
    /// Where the next bytes of the payload belong; empty while there is no room.
    virtual std::span<std::byte> payload_room() = 0;
    /// Bytes were written to the room.
    virtual void on_payload(std::size_t bytes) = 0;

    virtual void on_ignored() = 0;
    /// The connection ended. `returns`: the link goes on trying to make it again.
    virtual void on_disconnect(bool returns) = 0;
};

struct inlet_environment {
    std::shared_ptr<io_context> io;
    std::string name;
    start_at start;
    bool holds = false; ///< when_full::hold: the outlet is to feel it when nobody pulls
    std::size_t max_frame = 0;
    frame_sink* sink = nullptr;
};

/// What a link says to the outlet when it connects: a new token, and where to begin.
wire::hello make_hello(const inlet_environment& environment);

/// What one pump receives should be pulled while it is still in the caches.
inline constexpr std::size_t pump_bytes = 256u << 10;

class inlet_link {
public:
    virtual ~inlet_link() = default;

    /// Readable when pump() may have something to do; -1: the link calls notify itself, pump() is never needed.
    virtual int fd() const noexcept = 0;
    /// Receives what is there without blocking: at most `max_frames`, and hardly more than pump_bytes. True: there may
    /// be more. One thread at a time.
    virtual bool pump(time_point now, std::size_t max_frames) = 0;
    /// As pump(), for a thread with nothing else to do: sleeps in the receive itself until something comes, about
    /// `until`, or interrupt(), which spares the poll before it. False: nothing came, or this is not possible (now);
    /// wait on fd().
    virtual bool pump_asleep(time_point now, time_point until, std::size_t max_frames) {
        (void)now, (void)until, (void)max_frames;
        return false;
    }
    /// Ends pump_asleep() on another thread, now or as soon as it begins, by dropping the connection. Any thread.
    virtual void interrupt() noexcept {}
    /// When pump() wants to be called even if fd() stays silent. As pump().
    virtual time_point next_turn() const noexcept { return time_point::max(); }

    /// Why it is not connected, where the other side is there but cannot be used; else empty. Any thread.
    virtual std::string trouble() const { return {}; }

    /// Drops the connection, of which nothing is heard any more, and makes another. As pump(), which has to follow.
    virtual void reconnect(time_point now) = 0;
    /// Disconnects; idempotent. No pump() follows.
    virtual void close() = 0;
};

// --- making links ---------------------------------------------------------------------------------------------------

/// Listens. @throws error bad_endpoint, address_in_use, path_too_long, not_supported, system.
std::unique_ptr<outlet_link> open_outlet_link(std::string_view endpoint, const outlet_environment& environment);

/// Begins to connect, and goes on trying until closed. @throws error bad_endpoint, not_supported.
std::unique_ptr<inlet_link> open_inlet_link(std::string_view endpoint, const inlet_environment& environment);

} // namespace rivulet::transport
