#pragma once

#include "common/connector.hpp"
#include "common/event_log.hpp"
#include "common/stream_account.hpp"
#include "relay/options.hpp"

#include <rivulet/control.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rivulet::tools {

/// One stream on its way through the relay: an inlet, an outlet that repeats it, and a thread ("relay") between them,
/// so that one that has to wait holds up no other. Made, stopped and destroyed by one thread.
class relayed_stream {
public:
    struct surroundings {
        const relay_options& options;
        const context& to;           ///< where it is offered
        const std::string& relay_id; ///< added to its relays
        event_log& events;
        std::shared_ptr<wake_event> wake; ///< set when it is over
    };

    /// @throws what the outlet's constructor throws.
    relayed_stream(inlet in, const surroundings& around);
    ~relayed_stream();
    relayed_stream(const relayed_stream&) = delete;
    relayed_stream& operator=(const relayed_stream&) = delete;

    /// Ends it; what has come goes out for at most 200 ms. @param why for the summary.
    void stop(const char* why);
    bool over() const noexcept { return over_.load(); }
    /// Of what is repeated: equal for all its ways here.
    std::string lineage() const;
    std::string source_id() const;
    /// Uid under which it is repeated now.
    std::string uid() const;
    /// Whether its outlet is heard of.
    bool connected() const { return in_.stats().connected; }

    /// "EEG: 1000 samples, 250 Hz, 2 consumers, 0 lost before, 0 dropped": and as an event.
    std::string status(double now);
    /// Once over: as an event, and the line for people or programs.
    std::string summary();

private:
    stream_info described(const stream_info& source) const;
    outlet_options settings(const stream_info& described) const;
    void announce(const char* event);
    void run();
    void transfer();
    void end_outlet(bool patient);
    control_reply pass_on(const control_request& request);
    pull_result pull();
    void take(const pull_result& result, double last_stamp);
    void push();

    const surroundings around_;
    inlet in_;
    const std::uint64_t first_sequence_;
    const stream_info source_; ///< as it was at first: name, format and so on hold for all segments
    outlet out_;

    // The thread's own.
    std::uint64_t next_ = 0;
    chunk_view view_;
    std::vector<std::string> texts_;
    std::vector<double> stamps_;

    mutable std::mutex mutex_; ///< what follows
    stream_account account_;   ///< of what came in
    std::string lineage_;
    std::string end_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

} // namespace rivulet::tools
