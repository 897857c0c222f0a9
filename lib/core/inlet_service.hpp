#pragma once

#include "clock/offset_estimator.hpp"
#include "core/context_impl.hpp"
#include "service/client.hpp"

#include <rivulet/control.hpp>
#include <rivulet/inlet.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::core {

/// What can be asked of an outlet. Made for an inlet, or for a stream that was found. Threads: any. Functions that wait
/// must not be called on the I/O thread. @throws error closed, and what each says.
class inlet_service {
public:
    /// @param endpoint where data is reached. @param name who asks, for the outlet.
    inlet_service(std::shared_ptr<detail::context_impl> ctx, std::string endpoint, std::string name);
    ~inlet_service() { close(); }

    /// Data is reached here from now on.
    void endpoint_is(std::string endpoint);

    /// This is the stream, and where it says that requests are answered. Never blocks.
    void stream_is(const std::string& uid, std::vector<std::string> service);

    /// Looks up the host of the data, so that calls that must not block know where to go. May take seconds.
    void look_up();

    /// The outlet knows the inlet's data connection by this id from now on.
    void consumer_is(std::string id);

    /// @throws error limit_exceeded (data), invalid_argument (on the I/O thread).
    std::optional<control_reply> send_control(std::span<const std::byte> data, const control_options& options);
    using control_callback = std::function<void(std::optional<control_reply>)>;
    void post_control(std::span<const std::byte> data, const control_options& options, control_callback callback);

    std::optional<outlet_stats> stats(std::chrono::nanoseconds timeout);
    std::optional<clock_offset> time_correction(std::chrono::nanoseconds timeout);
    /// What was measured since the last call. Never blocks.
    std::vector<clock_record> take_clock_records();

    struct clock_reading {
        clock::offset_estimate estimate;     ///< for the time of the look
        std::uint64_t version = 0;           ///< grows when something new is known
        std::shared_ptr<service::client> of; ///< another one: another clock
    };
    /// What was known of the outlet's clock at most 50 ms ago; once asked, it is kept up to date. Never blocks.
    std::optional<clock_reading> clock_now();

    /// How often another outlet, or another segment of one, took the place of the one before.
    std::uint64_t streams() const noexcept { return streams_.load(std::memory_order_acquire); }

    /// Ends all calls; when it returns, no callback runs (unless on this very thread) or will. Idempotent.
    void close();

private:
    std::shared_ptr<service::client> client(bool may_block);
    std::string uid() const;
    void check_waiting() const;
    static void end_if_closed(service::client& server, const void* owner, const std::atomic<bool>& gone);
    bool ask(wire::service_request request, std::chrono::nanoseconds timeout,
             std::function<void(const wire::service_reply&)> take);
    void keep_time(service::client& server);
    std::string title() const;

    const std::shared_ptr<detail::context_impl> ctx_;
    const std::string name_;

    mutable std::mutex mutex_;
    std::string endpoint_;
    std::vector<std::string> reached_; ///< the endpoint of the data, with addresses in place of a name
    std::string uid_;
    std::string consumer_;
    std::vector<std::string> offered_; ///< as the info frame says
    std::shared_ptr<service::client> client_;
    std::vector<std::string> client_of_; ///< what was offered when it was made
    bool keeps_time_ = false;
    std::optional<clock_reading> clock_known_;
    double look_at_clock_ = 0; ///< again at this local_clock()
    std::shared_ptr<service::client> records_of_;
    std::uint64_t next_record_ = 0; ///< that was not taken yet
    bool line_begins_ = false;      ///< the next one is the first of another clock
    std::atomic<std::uint64_t> streams_{0};
    bool closed_ = false;
    const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false); ///< closed_, for calls
};

} // namespace rivulet::core
