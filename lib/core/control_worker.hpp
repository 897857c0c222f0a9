#pragma once

#include "platform/futex.hpp"
#include "platform/log.hpp"
#include "service/server.hpp"

#include <rivulet/control.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rivulet::core {

/// Runs an outlet's control handler, one request at a time, on a thread of its own, made with the first handler that
/// wants one, or on the thread that brings the request. What waits for it is bounded (256 requests, 16 MiB); what finds
/// no room is told so.
class control_worker {
public:
    using handler = std::function<control_reply(const control_request&)>;

    control_worker(std::shared_ptr<platform::logger> log, std::string stream);
    ~control_worker() { stop(platform::time_point::min()); }

    /// The one before does not run any more when this returns, unless it is the caller. Empty: requests are answered
    /// with no_handler. @throws error system: no thread.
    void set_handler(handler wanted, control_thread where);
    /// Never blocks. @return for a handler on this thread: runs it; to be called without locks. May outlive the worker.
    std::function<void()> submit(service::control_call call);
    /// Answers what waits, and whatever comes, with unavailable.
    void begin_stop();
    /// The same, and waits for the handler that runs. A handler that still runs at the deadline is left to itself: its
    /// thread ends when it returns.
    void stop(platform::time_point deadline);

private:
    struct state;
    static void run(const std::shared_ptr<state>& shared);
    static void serve_next(state& s, std::unique_lock<std::mutex>& lock);
    static void serve_here(state& s);
    static void handle(const handler& wanted, const service::control_call& call);

    const std::shared_ptr<platform::logger> log_;
    const std::string stream_;
    const std::shared_ptr<state> state_;
    std::thread thread_; ///< under state's mutex
};

} // namespace rivulet::core
