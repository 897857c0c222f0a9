#pragma once

#include "clock/offset_estimator.hpp"
#include "platform/reactor.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::transport {
class io_context;
}

namespace rivulet::service {

class client;

/// Keeps an estimate of a server's clock: bursts of probes, again and again once somebody has asked. A probe goes out
/// when the one before is answered. Threads: any; probes are answered on the I/O thread.
class time_keeper final : public platform::io_handler {
public:
    time_keeper(transport::io_context& io, client& server) : io_(io), server_(server) {}

    /// Begins, if it has not; requests name this outlet. Another uid takes over from the next probe on.
    void start(const std::string& uid);
    /// The estimate for now; waits for the first one until the deadline.
    std::optional<clock::offset_estimate> estimate(platform::time_point deadline);
    /// Of bursts that the estimate rests on: grows when there is something new.
    std::uint64_t version();
    /// What was measured, from this number on; see offset_estimator.
    std::vector<clock_record> records(std::uint64_t from);
    /// Forgets nothing, but probes no more; waits for a call under way. No other call follows.
    void close();

    void on_ready(int, std::uint32_t) override {}
    void on_turn(platform::time_point now) override;

private:
    void probe_next();
    void burst_done(platform::time_point now);

    transport::io_context& io_;
    client& server_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string uid_;
    clock::offset_estimator estimator_;
    std::vector<clock::probe> burst_;
    int asked_ = 0;        ///< probes of this burst
    bool running_ = false; ///< a burst is under way
    std::uint64_t bursts_ = 0;
    bool closed_ = false;
};

} // namespace rivulet::service
