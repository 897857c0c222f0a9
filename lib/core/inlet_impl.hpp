#pragma once

#include "core/context_impl.hpp"
#include "core/inlet_buffer.hpp"
#include "core/inlet_service.hpp"
#include "core/stamp_processor.hpp"
#include "core/successor_search.hpp"
#include "platform/event_fd.hpp"
#include "platform/fork_guard.hpp"
#include "platform/futex.hpp"
#include "platform/reactor.hpp"
#include "transport/transport.hpp"

#include <rivulet/inlet.hpp>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::detail {

/// What keeps a chunk_view's memory alive.
class view_state {
public:
    samples::segment_ref segment;
    std::vector<double> stamps; ///< those that are not as they came
};

/// Times that several threads look at.
inline std::int64_t ns_of(platform::time_point t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}
inline platform::time_point time_of(const std::atomic<std::int64_t>& ns) noexcept {
    return platform::time_point(std::chrono::nanoseconds(ns.load(std::memory_order_relaxed)));
}

/// An inlet. Threads: one thread pulls; frames come from whoever pumps the link (the I/O thread, or the pulling thread
/// while it waits) or from an inproc outlet's pushing thread, and meet the puller in the log only.
///
/// Who pumps: pump_mutex_ is held around every pump(). While a thread waits in pull it watches the link's descriptor
/// itself (driving_), or sleeps in the link's receive with pump_mutex_ held, so that a frame reaches it without a hop
/// over the I/O thread; when no pull has come for `lease`, the I/O thread takes the descriptor back. The I/O thread
/// never waits for pump_mutex_.
class inlet_impl final : public transport::frame_sink, public platform::io_handler, public samples::log_waiter {
public:
    inlet_impl(std::string_view endpoint, inlet_options options);
    ~inlet_impl() override;

    pull_result pull_values(void* values, channel_format element, std::size_t count, std::span<double> stamps,
                            std::chrono::nanoseconds timeout);
    pull_result pull_text(std::vector<std::string>& values, std::vector<double>& stamps,
                          std::chrono::nanoseconds timeout, std::size_t max_samples);
    chunk_view pull_view(std::chrono::nanoseconds timeout, std::size_t max_samples);
    std::size_t wait_for_samples(std::size_t max_samples, std::chrono::nanoseconds timeout);
    /// A pull would return at once.
    bool pull_ready();

    stream_info info() const;
    std::size_t channels() const noexcept { return channels_; }
    const std::string& endpoint() const noexcept { return *endpoint_.load(std::memory_order_acquire); }
    /// A stamp as pulled, on this host's clock.
    double to_local(double stamp);
    std::size_t samples_available();
    /// As far as is known without looking at what comes next. Pulling thread.
    std::uint64_t next_sequence();
    std::size_t flush();
    int wait_fd();
    /// Makes wait_fd() unreadable unless there is something to pull. Pulling thread.
    void prepare_wait() { rearm_fd(); }
    inlet_stats stats() const;
    /// What can be asked of the outlet. @throws error closed.
    core::inlet_service& service() {
        if (closed_.load(std::memory_order_acquire) || inert())
            check_usable();
        return service_;
    }
    void close();
    bool inert() const noexcept { return fork_.in_child(); }

    // frame_sink
    transport::greeting_answer on_greeting(const wire::info_frame& info, std::uint64_t next_sequence,
                                           samples::log_reader* shared) override;
    transport::resume_point where_to_resume() override;
    bool ready_for_data() override;
    void on_data(const wire::data_view& frame, std::size_t wire_bytes) override;
    void on_status(const wire::status_frame& frame) override;
    bool on_data_begun(const wire::data_view& begun, std::size_t payload_bytes, std::size_t wire_bytes) override;
    std::span<std::byte> payload_room() override;
    void on_payload(std::size_t bytes) override;
    void on_ignored() override;
    void on_disconnect(bool returns) override;
    // io_handler
    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;
    // log_waiter
    void wake() noexcept override;

private:
    struct next_chunk {
        samples::log_span span;
        pull_result result;
    };
    /// What lies next, cut at gaps and segments; waits for it. `result.samples` is span.count.
    next_chunk wait_for_chunk(std::uint32_t max, std::chrono::nanoseconds timeout);
    bool look(std::uint32_t max, next_chunk& out);
    void take(const next_chunk& chunk, std::uint32_t count) noexcept;
    void look_at_clock(bool new_segment);
    void process_stamps(const pull_result& result, std::span<double> stamps);
    void apply_marks(std::uint64_t position);
    std::optional<pull_result> at_end();
    void sleep_until(platform::time_point deadline);
    void drive(platform::time_point deadline);
    bool pump_here(platform::time_point now);
    bool pump_asleep(platform::time_point now, platform::time_point until);
    void take_back_fd(platform::time_point now);
    void watch_lease(platform::time_point now);
    void pump_from_io_thread(platform::time_point now);
    bool pump_locked(platform::time_point now);
    platform::time_point next_turn() const noexcept { return time_of(next_turn_ns_); }
    /// Whether whoever answered is our stream again; else what to do.
    transport::greeting_answer judge(const wire::info_frame& greeting);
    void look_after_connection(platform::time_point now);
    void look_for_successor(platform::time_point now);
    void switch_to(const std::string& endpoint);
    std::chrono::nanoseconds recover_for() const;
    /// In this order: an end is told before the connection is taken for gone, on another thread perhaps.
    bool is_lost() const {
        return !connected_.load(std::memory_order_acquire) && !ended_.load(std::memory_order_acquire);
    }
    void rearm_fd();
    void check_usable() const;
    void prepare_stamps();
    void wait_for_greeting(std::chrono::nanoseconds timeout);
    void fail(std::string message);
    std::string title() const;

    const platform::fork_guard fork_;
    const std::shared_ptr<context_impl> ctx_;
    std::list<std::string> endpoints_; ///< all there were: references to them stay valid
    std::atomic<const std::string*> endpoint_;
    const when_full full_;
    const std::optional<buffer_size> max_buffered_;
    const std::chrono::nanoseconds lost_after_;
    const std::optional<std::chrono::nanoseconds> recover_for_;
    const std::chrono::nanoseconds busy_poll_;
    const stamp_options stamp_options_;
    core::inlet_service service_;

    // Receiving side.
    std::mutex pump_mutex_;              ///< held around link_->pump()
    platform::light_mutex buffer_mutex_; ///< held in every sink call: writes to buffer_, expectations
    transport::inlet_environment environment_;
    std::unique_ptr<transport::inlet_link> link_; ///< replaced under pump_mutex_ on the I/O thread
    std::atomic<int> link_fd_{-1};                ///< its fd()
    /// Closed; a puller may still poll their descriptors. Under pump_mutex_.
    std::vector<std::unique_ptr<transport::inlet_link>> retired_;
    std::unique_ptr<core::successor_search> search_; ///< while not connected; on the I/O thread
    std::unique_ptr<core::inlet_buffer> buffer_;     ///< links that deliver frames; made at the first greeting
    std::endian order_ = std::endian::native;
    std::atomic<std::int64_t> last_heard_ns_{0}; ///< or last made a connection
    std::atomic<std::int64_t> lost_since_ns_{0}; ///< while not connected
    std::atomic<std::int64_t> next_turn_ns_{0};  ///< the link's, after the last pump
    std::atomic<bool> ended_{false};             ///< the end came, perhaps after samples that wait for room
    bool stranger_told_ = false;                 ///< under buffer_mutex_
    std::atomic<std::uint64_t> frames_{0}, bytes_{0}, ignored_{0}, greetings_{0};
    std::atomic<bool> connected_{false};

    // Both sides.
    mutable std::mutex info_mutex_;
    stream_info info_;
    std::string failure_; ///< under info_mutex_, once failed_
    std::atomic<bool> greeted_{false};
    std::atomic<bool> opened_{false}; ///< the constructor is done with log_ and reader_
    std::atomic<bool> failed_{false};
    std::atomic<bool> closed_{false};
    std::mutex close_mutex_;
    std::shared_ptr<samples::sample_log> log_; ///< set at the first greeting, then constant
    platform::event wakeup_;                   ///< data, end, failure, close
    platform::event_fd wait_fd_;               ///< for wait_fd(), made with the inlet
    platform::event_fd drive_fd_;              ///< wakes a pull that watches the link itself
    transport::poll_set drive_wait_;           ///< what such a pull waits on; its thread only
    std::atomic<bool> use_wait_fd_{false};
    std::atomic<bool> driving_{false};    ///< the pulling thread watches the link's descriptor
    std::atomic<bool> fd_with_io_{false}; ///< the I/O thread watches it
    std::atomic<std::int64_t> last_driven_ns_{0};
    std::atomic<bool> lease_watched_{false}; ///< a turn to take the descriptor back is due
    platform::time_point lease_seen_{};      ///< the last drive, as that turn saw it; on the I/O thread

    // Pulling side.
    std::size_t channels_ = 1;
    channel_format format_ = channel_format::float32;
    samples::log_reader* reader_ = nullptr; ///< the link's, or own_reader_; set at the first greeting
    bool shared_ = false;                   ///< reader_ is in the outlet's own log
    std::unique_ptr<samples::log_reader> own_reader_;
    core::sequence_marks shared_marks_; ///< of the outlet's own log
    core::sequence_marks* marks_ = nullptr;
    std::uint64_t offset_ = 0;        ///< sequence number = position + offset_ (modulo 2^64)
    std::uint64_t next_sequence_ = 0; ///< what the next pull should bring
    bool first_segment_ = true;
    bool new_segment_ = false; ///< to be told by the next result, however often it is looked at
    bool end_reported_ = false;
    std::optional<core::stamp_processor> processor_; ///< where stamps are not wanted as they come
    core::inlet_service::clock_reading clock_known_; ///< to it
    /// service_.streams() when the segment that is being pulled began. While it is another one, what is known is the
    /// clock of a stream that comes only after what is still here.
    std::atomic<std::uint64_t> stream_pulled_{0};
    std::atomic<std::uint64_t> pulled_{0}, lost_{0};

    // to_local().
    std::mutex offset_mutex_;
    std::uint64_t offset_of_ = 0; ///< service_.streams() that it was measured for
    double offset_s_ = 0;
};

} // namespace rivulet::detail
