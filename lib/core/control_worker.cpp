#include "core/control_worker.hpp"

#include <rivulet/error.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>

namespace rivulet::core {
namespace {

constexpr std::size_t max_waiting = 256;
constexpr std::size_t max_waiting_bytes = 16u << 20;

} // namespace

/// Shared with the thread, which may outlive the outlet.
struct control_worker::state {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<service::control_call> waiting;
    std::size_t waiting_bytes = 0;
    std::shared_ptr<const handler> current;
    control_thread where = control_thread::own;
    bool running = false; ///< the handler
    bool stopping = false;
    std::thread::id runs_on; ///< while it runs
};

control_worker::control_worker(std::shared_ptr<platform::logger> log, std::string stream)
    : log_(std::move(log)), stream_(std::move(stream)), state_(std::make_shared<state>()) {}

void control_worker::set_handler(handler wanted, control_thread where) {
    std::deque<service::control_call> unwanted;
    {
        std::unique_lock lock(state_->mutex);
        state_->where = where;
        state_->current = wanted ? std::make_shared<const handler>(std::move(wanted)) : nullptr;
        if (!state_->current) {
            unwanted.swap(state_->waiting);
            state_->waiting_bytes = 0;
        } else if (!thread_.joinable() && !state_->stopping && where == control_thread::own) {
            try {
                thread_ = std::thread([shared = state_] { run(shared); });
            } catch (const std::system_error& e) {
                throw error(errc::system,
                            "outlet \"" + stream_ + "\": cannot start a thread for its control handler: " + e.what());
            }
        }
        state_->changed.notify_all(); // what waited for the one before may be for the thread now
        if (state_->runs_on != std::this_thread::get_id())
            state_->changed.wait(lock, [&] { return !state_->running || state_->stopping; });
    }
    for (const service::control_call& call : unwanted)
        call.refuse(control_status::no_handler, "the outlet takes no control messages any more");
}

std::function<void()> control_worker::submit(service::control_call call) {
    const std::size_t bytes = call.request.data.size();
    control_status why = control_status::unavailable;
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->stopping) {
            why = control_status::busy;
            if (!state_->current) {
                why = control_status::no_handler;
            } else if (state_->waiting.size() < max_waiting && state_->waiting_bytes + bytes <= max_waiting_bytes) {
                state_->waiting_bytes += bytes;
                state_->waiting.push_back(std::move(call));
                if (state_->where == control_thread::io)
                    return [shared = state_] { serve_here(*shared); };
                state_->changed.notify_all();
                return {};
            }
        }
    }
    call.refuse(why, why == control_status::busy         ? "too many requests wait for the outlet's handler"
                     : why == control_status::no_handler ? "the outlet takes no control messages"
                                                         : "the outlet is closing");
    return {};
}

void control_worker::handle(const handler& wanted, const service::control_call& call) {
    try {
        call.done(wanted(call.request));
    } catch (const std::exception& e) {
        call.refuse(control_status::failed, e.what());
    } catch (...) {
        call.refuse(control_status::failed, "the outlet's handler threw something that is no std::exception");
    }
}

/// The oldest request that waits; there is one, and nobody is at another.
void control_worker::serve_next(state& s, std::unique_lock<std::mutex>& lock) {
    const service::control_call call = std::move(s.waiting.front());
    s.waiting.pop_front();
    s.waiting_bytes -= call.request.data.size();
    auto current = s.current; // there is one as long as something waits
    s.running = true;
    s.runs_on = std::this_thread::get_id();
    lock.unlock();
    handle(*current, call);
    current.reset(); // what a handler that was replaced has captured goes before its replacer goes on
    lock.lock();
    s.running = false;
    s.runs_on = {};
    s.changed.notify_all();
}

/// A handler that still runs on the thread of its own, for which another was set, goes on with what waits.
void control_worker::serve_here(state& s) {
    std::unique_lock lock(s.mutex);
    while (!s.stopping && !s.running && !s.waiting.empty())
        serve_next(s, lock);
}

void control_worker::run(const std::shared_ptr<state>& shared) {
    ::pthread_setname_np(::pthread_self(), "rivulet-control");
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->changed.wait(lock, [&] { return shared->stopping || (!shared->waiting.empty() && !shared->running); });
        if (shared->stopping)
            return;
        serve_next(*shared, lock);
    }
}

void control_worker::begin_stop() {
    std::deque<service::control_call> unwanted;
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        unwanted.swap(state_->waiting);
    }
    state_->changed.notify_all();
    for (const service::control_call& call : unwanted)
        call.refuse(control_status::unavailable, "the outlet is closing");
}

void control_worker::stop(platform::time_point deadline) {
    begin_stop();
    bool left_alone = false, from_handler = false;
    {
        std::unique_lock lock(state_->mutex);
        from_handler = state_->runs_on == std::this_thread::get_id();
        if (!from_handler)
            state_->changed.wait_until(lock, deadline, [&] { return !state_->running; });
        left_alone = state_->running;
        if (left_alone && thread_.joinable())
            thread_.detach();
    }
    if (thread_.joinable())
        thread_.join();
    if (left_alone && !from_handler)
        log_->warn("control_handler_stuck", {{"stream", stream_}},
                   "the control handler did not return within linger: closing without it");
}

} // namespace rivulet::core
