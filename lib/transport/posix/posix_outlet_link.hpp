#pragma once

#include "platform/reactor.hpp"
#include "platform/unique_fd.hpp"
#include "samples/sample_log.hpp"
#include "transport/endpoint.hpp"
#include "transport/path_guard.hpp"
#include "transport/posix/acceptor.hpp"
#include "transport/posix/outgoing.hpp"
#include "transport/transport.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::transport::posix {

std::unique_ptr<outlet_link> listen(const transport::endpoint& where, const outlet_environment& environment);

/// One connection of an outlet. Guarded by the link's lock.
struct peer {
    platform::unique_fd fd;
    bool counted = false; ///< it said hello
    bool wants_greeting = false;
    bool ended = false;       ///< the end frame is sent
    bool half_closed = false; ///< we have shut down our side
    bool broken = false;      ///< to be dropped
    bool kicked = false;
    bool watches_output = false;
    wire::hello hello;
    std::string id, name, address;
    std::unique_ptr<samples::log_reader> reader; ///< async
    segment_share segment;                       ///< that it is in
    bool segment_due = false;                    ///< it has not been told of that yet
    std::uint64_t joined_at = 0;
    std::uint64_t sent_sync = 0;
    outgoing out;
    std::vector<std::byte> incoming; ///< a hello that has come in part
    std::size_t heard = 0;           ///< bytes received in all
    time_point last_sent{};
    time_point stalled_since = time_point::max();
    time_point deadline{}; ///< sync: of the frame in `out`
    bool in_push = false;  ///< sync: `out` holds the caller's memory
    bool push_due = false; ///< sync: the frame of the push under way has to wait for what is in `out`

    /// Of the next sample that it gets. Async.
    std::uint64_t next_sequence() const noexcept { return reader->position() - segment->base; }
    bool caught_up() const noexcept { return out.empty() && (!reader || reader->lag() == 0); }
    std::uint64_t dropped() const { return reader ? reader->dropped() : 0; }
    std::uint64_t sent() const noexcept {
        return reader ? reader->position() - joined_at - reader->total_lost() : sent_sync;
    }
    /// Samples that it could still get.
    std::uint64_t waiting() const { return reader ? reader->lag() - reader->out_of_window() : 0; }
};

/// A listener of an outlet and its connections. The outlet speaks first: info, then data, so that a client that only
/// connects and reads works; one that says hello gets a second info frame, its greeting, and counts as a consumer.
/// Every connection has its own cursor (async) or deadline (sync).
///
/// Threads: all is guarded by mutex_. The I/O thread accepts, reads and writes; a push may write when nobody sleeps on
/// it; in sync mode the pushing thread writes and waits. Consumer events are told by the I/O thread, without the lock.
class posix_outlet_link final : public outlet_link, public platform::io_handler, public samples::log_waiter {
public:
    posix_outlet_link(const transport::endpoint& where, const outlet_environment& environment);
    ~posix_outlet_link() override;

    const std::string& endpoint() const noexcept override { return endpoint_; }
    std::size_t consumer_count() const override { return count_.load(std::memory_order_acquire); }
    void add_stats(outlet_stats& stats) const override;
    bool drained() const override;
    void begin_send(const sync_frame& frame, time_point deadline) override;
    bool progress(time_point now, poll_set& wait) override;
    void abort_send() override;
    void begin_segment() override;
    bool sends_directly() const noexcept override { return true; }
    void close(time_point deadline) override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(time_point now) override;
    void wake() noexcept override;

private:
    void admit(platform::unique_fd fd, time_point now);
    void read_from(peer& p, time_point now);
    bool parse_hello(peer& p, time_point now);
    void greet(peer& p, time_point now);
    void send_info(peer& p, std::uint64_t next, time_point now);
    start_point start(const wire::hello* hello) const;
    std::uint64_t next_sequence() const;

    bool pump(time_point now, std::size_t frames_each);
    bool ready_for_push(peer& p, time_point now);
    bool pump_peer(peer& p, time_point now, std::size_t frames);
    void send_log_frame(peer& p, const samples::log_span& span, time_point now);
    void send_status(peer& p, wire::frame_kind kind, time_point now);
    void wrote(peer& p, written result, time_point now);
    void resume(peer& p, time_point now);
    void send_push_frame(peer& p, time_point now);
    void rest(time_point now);
    void drop_broken(time_point now);
    bool finish_up(time_point now);
    void tell(consumer_event::kind what, const peer& p);
    void deliver_events();
    bool drained_locked() const;
    bool drain_is_news() const { return environment_.drains->awaited() && drained_locked(); }

    const outlet_environment environment_;
    std::unique_ptr<path_guard> guard_;
    std::string endpoint_;
    transport::endpoint where_;

    mutable std::mutex mutex_;
    acceptor listener_;
    std::map<int, std::unique_ptr<peer>> peers_;
    std::vector<consumer_event> events_;
    outlet_stats gone_;
    std::uint64_t sync_next_ = 0;
    std::array<wire::bytes_view, 5> push_pieces_{}; ///< sync: of the frame of the push under way
    std::uint32_t push_count_ = 0;
    std::size_t silent_ = 0; ///< peers without a hello
    bool closing_ = false;
    bool closed_ = false;
    std::atomic<std::size_t> count_{0};
    time_point last_wake_{}; ///< under the log's waiter lock
};

} // namespace rivulet::transport::posix
