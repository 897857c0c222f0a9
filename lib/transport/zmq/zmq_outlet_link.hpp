#pragma once

#include "platform/reactor.hpp"
#include "transport/endpoint.hpp"
#include "transport/path_guard.hpp"
#include "transport/transport.hpp"
#include "transport/zmq/connection_watch.hpp"
#include "transport/zmq/consumer_lane.hpp"
#include "transport/zmq/frame_flow.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::transport::zmq {

std::unique_ptr<outlet_link> listen(const transport::endpoint& where, const outlet_environment& environment);

/// One XPUB socket of an outlet. Every Rivulet inlet subscribes to a token of its own and gets its own messages under
/// it (FORMAT.md), with its own cursor and window: no consumer waits for another, and libzmq never has to drop.
///
/// Threads: the socket and all lanes are guarded by mutex_. The I/O thread pumps; a push may pump when nobody sleeps
/// on it; in sync mode the pushing thread sends and waits. Consumer events are told by the I/O thread, without the
/// lock.
class zmq_outlet_link final : public outlet_link, public platform::io_handler, public samples::log_waiter {
public:
    zmq_outlet_link(const transport::endpoint& where, const outlet_environment& environment);
    ~zmq_outlet_link() override;

    const std::string& endpoint() const noexcept override { return endpoint_; }
    std::size_t consumer_count() const override { return count_.load(std::memory_order_acquire); }
    void add_stats(outlet_stats& stats) const override;
    bool drained() const override;
    void begin_send(const sync_frame& frame, time_point deadline) override;
    bool progress(time_point now, poll_set& wait) override;
    void abort_send() override;
    void begin_segment() override;
    void close(time_point deadline) override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(time_point now) override;
    void wake() noexcept override;

private:
    struct pending_frame { ///< sync: one consumer that libzmq has not released the frame for
        frame_flow* flow;
        wire::token token;
        bool plain;
    };

    void bind(transport::endpoint where);
    void configure(transport::endpoint& where);
    void tell_refusals();

    // Subscriptions.
    void read_subscriptions(time_point now);
    void handle_subscription(bool subscribe, wire::bytes_view topic, const connection& peer, const char* address,
                             time_point now);
    void join(const wire::token& token, const connection& peer, const char* address, time_point now);
    void leave(const wire::token& token, const connection& peer);
    void drop_lane(consumer_lane& lane);
    void plain_subscribed(const connection& peer, time_point now);
    void forget_dead_plain_peers();
    void count_subscription(const connection& peer);
    void greet(consumer_lane& lane, std::uint64_t first, time_point now);
    start_point start(const wire::hello* hello) const;
    std::unique_ptr<consumer_lane> make_lane(const wire::token* token) const;
    std::uint64_t next_sequence() const;

    // Sending.
    bool pump(time_point now, std::size_t frames_each);
    bool pump_lane(consumer_lane& lane, time_point now, std::size_t frames);
    bool send_segment(consumer_lane& lane, std::uint64_t position, time_point now);
    frame_flow::slot* take_slot(consumer_lane& lane, std::size_t bytes);
    bool send_log_frame(consumer_lane& lane, const samples::log_span& span, time_point now);
    void send_data(consumer_lane& lane, const wire::data_head& head, wire::bytes_view prefix, const void* payload,
                   std::size_t bytes, frame_flow::slot& slot);
    void send_frame(const consumer_lane& lane, wire::bytes_view frame, wire::bytes_view last = {});
    void send_status(consumer_lane& lane, wire::frame_kind kind, time_point now);
    void send_plain_tail();
    void send_plain_info(time_point now);
    void send_keep_alives(time_point now);
    void rest(time_point now);
    void kick_stalled_plain(time_point now);
    template<class F>
    void for_each_lane(F&& f) {
        for (auto& [token, lane] : lanes_)
            f(*lane);
        if (plain_lane_)
            f(*plain_lane_);
    }

    // Sync.
    void kick_late(time_point now, bool all);

    void tell(consumer_event::kind what, const consumer_lane& lane);
    void deliver_events();
    bool finish_up(time_point now);

    const outlet_environment environment_;
    const std::shared_ptr<zmq_runtime> runtime_;
    const std::shared_ptr<release_signal> signal_;
    std::unique_ptr<path_guard> guard_;
    std::string endpoint_;

    mutable std::mutex mutex_;
    zmq_socket socket_;
    connection_watch watch_;
    std::uint64_t refusals_told_ = 0; ///< of watch_.refused(), in the log
    int socket_fd_ = -1;
    int watch_fd_ = -1;
    std::map<wire::token, std::unique_ptr<consumer_lane>> lanes_;
    std::unique_ptr<consumer_lane> plain_lane_;
    std::map<wire::token, wire::hello> hellos_;                          ///< said before their token
    std::map<std::pair<int, std::uint64_t>, std::uint32_t> plain_peers_; ///< (fd, serial) -> subscriptions
    std::map<std::pair<int, std::uint64_t>, std::uint32_t> topics_;      ///< subscriptions a connection made
    int plain_tails_ = 0;                                                ///< still to be sent, at the end
    time_point plain_info_due_ = time_point::max();
    time_point plain_info_sent_ = time_point::min();
    time_point plain_stalled_since_ = time_point::max();
    std::uint64_t plain_released_ = 0; ///< frames released by all lanes at the last look
    std::vector<consumer_event> events_;
    outlet_stats gone_; ///< totals of those that left, and counters
    std::vector<pending_frame> pending_;
    time_point send_deadline_{};
    time_point next_look_{};
    std::uint64_t sync_next_ = 0;
    bool closing_ = false; ///< nobody joins any more: a newcomer is to find the next outlet here, not our end
    bool closed_ = false;
    std::atomic<std::size_t> count_{0};
    time_point last_wake_{}; ///< under the log's waiter lock
};

} // namespace rivulet::transport::zmq
