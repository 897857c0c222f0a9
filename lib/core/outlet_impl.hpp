#pragma once

#include "core/context_impl.hpp"
#include "core/outlet_service.hpp"
#include "platform/event_fd.hpp"
#include "platform/fork_guard.hpp"
#include "platform/futex.hpp"
#include "samples/sample_log.hpp"
#include "transport/transport.hpp"

#include <rivulet/outlet.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::detail {

/// The stamps of one push: either one a sample, or one for the last from which the others follow.
struct push_stamps {
    std::span<const double> each;
    double last = now;
};

/// An outlet. Threads: pushes are serialised by producer_; links call consumer_changed on the I/O thread (or on a
/// thread that attaches); everything else from any thread.
class outlet_impl {
public:
    outlet_impl(stream_info info, outlet_options options);
    ~outlet_impl();

    /// One sample; push_values with a short cut for what is pushed most.
    void push_one(const void* values, channel_format element, std::size_t count, double stamp);
    void push_values(const void* values, channel_format element, std::size_t count, const push_stamps& stamps);
    void push_text(std::span<const std::string_view> values, const push_stamps& stamps);

    std::size_t consumer_count() const;
    bool wait_for_consumers(std::chrono::nanoseconds timeout, std::size_t count) const;
    void set_consumer_callback(std::function<void(const consumer_event&)> callback);
    bool flush(std::chrono::nanoseconds timeout) const;
    outlet_stats stats() const;
    std::vector<std::string> endpoints() const;
    std::vector<std::string> service_endpoints() const {
        return inert() ? std::vector<std::string>() : service_->endpoints();
    }
    void set_control_handler(core::control_worker::handler handler, control_thread thread);
    void stop(std::chrono::nanoseconds linger);
    void stop() { stop(linger_); }

    void begin_segment(stream_info next, std::uint64_t first_sequence);
    void skip_to(std::uint64_t sequence);
    const stream_info& info() const noexcept { return *environment_.segments->current()->info; }
    bool inert() const noexcept { return fork_.in_child(); }

private:
    void check_open() const;
    std::size_t check_shape(std::size_t count, std::size_t stamps) const;
    void check_stamps(const push_stamps& stamps) const;
    void append(const void* values, channel_format element, std::size_t samples, const push_stamps& stamps);
    void append_text(std::span<const std::string_view> values, std::size_t samples, const push_stamps& stamps);
    void send(const std::byte* values, std::size_t samples, std::size_t sample_bytes, const push_stamps& stamps);
    void send_frame(const transport::sync_frame& frame);
    void wait_for_room();
    void consumer_changed(const consumer_event& event);
    samples::log_options log_options(const outlet_options& options) const;
    std::uint64_t pushed() const noexcept;
    std::string title() const;
    /// @param asked the endpoints of the options.
    void advertise(const std::vector<std::string>& asked);

    const platform::fork_guard fork_;
    const std::shared_ptr<context_impl> ctx_;
    stream_info info_; ///< as it was at first
    std::size_t channels_ = 0;
    std::size_t sample_bytes_ = 0;
    std::chrono::nanoseconds send_timeout_;
    std::chrono::nanoseconds linger_;
    std::size_t max_frame_;
    samples::sample_log::overflow policy_ = samples::sample_log::overflow::drop_oldest;
    std::shared_ptr<samples::sample_log> log_; ///< async only
    transport::outlet_environment environment_;
    std::unique_ptr<core::outlet_service> service_;
    std::vector<std::unique_ptr<transport::outlet_link>> links_; ///< in the order of sending
    std::vector<std::string> endpoints_;                         ///< in the order of the options
    discovery::advert advert_;   ///< what others are told; without endpoints (inproc only): nothing
    platform::event_fd stop_fd_; ///< wakes a push that polls

    platform::light_mutex producer_;
    std::uint64_t sequence_ = 0; ///< sync: of the next sample, under producer_
    std::atomic<std::uint64_t> pushed_sync_{0};
    transport::poll_set wait_; ///< sync: under producer_

    std::atomic<bool> stopping_{false};
    std::mutex stop_mutex_;
    bool stopped_ = false;

    mutable std::mutex consumers_mutex_;
    mutable std::condition_variable consumers_changed_;
    std::recursive_mutex callback_mutex_; ///< held while the callback runs, so that ending it waits for that
    std::shared_ptr<const std::function<void(const consumer_event&)>> callback_;
    std::map<std::string, consumer_event> present_; ///< by id: what a new callback is told first
};

} // namespace rivulet::detail
