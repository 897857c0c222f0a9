#pragma once

#include "platform/event_fd.hpp"
#include "platform/futex.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace rivulet::platform {

class reactor;

/// Somebody whom a reactor calls on its thread, one call at a time. Must not block.
class io_handler {
public:
    virtual ~io_handler() = default;
    /// A watched descriptor is ready; `events` as epoll gives them.
    virtual void on_ready(int fd, std::uint32_t events) = 0;
    /// The time asked for with schedule() has come, or post() was called.
    virtual void on_turn(time_point now) = 0;

private:
    friend class reactor;
    std::atomic<bool> posted_{false};
    time_point due_ = time_point::max(); ///< under the reactor's mutex
};

/// One thread that waits on descriptors, times and posts for many handlers. Sleeps unless there is something to do.
/// All methods from any thread.
class reactor {
public:
    /// The thread starts with the first use.
    explicit reactor(std::string thread_name);
    /// No handler may be registered any more.
    ~reactor();
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;

    /// Watches fd (EPOLLIN, EPOLLOUT, EPOLLET...). @throws error system.
    void watch(int fd, std::uint32_t events, io_handler& handler);
    void change(int fd, std::uint32_t events);
    /// Not called for that fd again, except for a call that is under way on the reactor's thread.
    void unwatch(int fd) noexcept;

    /// Calls on_turn at `when`, in place of any earlier request; time_point::max() = never.
    void schedule(io_handler& handler, time_point when);
    /// schedule, if `when` is earlier than what is requested already.
    void schedule_earlier(io_handler& handler, time_point when);
    /// Calls on_turn soon. Costs nothing when it is posted already, and a system call only when the thread sleeps.
    void post(io_handler& handler);

    /// Forgets the handler: when it returns, no call is running (unless made by this very call's thread) and none will
    /// come. Never call it with a lock held that the handler's calls take.
    void forget(io_handler& handler) noexcept;

    bool on_this_thread() const noexcept { return std::this_thread::get_id() == thread_id_.load(); }

private:
    void start_locked();
    void run();
    void wake() noexcept;
    int wait_milliseconds(time_point now);
    void dispatch_ready(std::uint64_t key, std::uint32_t events);
    void dispatch_turns(time_point now);
    void call_turn(std::unique_lock<std::mutex>& lock, io_handler& handler, time_point now);
    void finish_call(std::unique_lock<std::mutex>& lock);
    void set_due_locked(io_handler& handler, time_point when);

    struct watched {
        io_handler* handler;
        std::uint64_t generation; ///< tells a descriptor from its successor of the same number
    };

    const std::string name_;
    int epoll_ = -1;
    event_fd wake_;
    std::atomic<bool> asleep_{false};
    std::atomic<std::thread::id> thread_id_{};

    std::mutex mutex_;
    std::condition_variable call_done_;
    std::unordered_map<int, watched> watched_;
    std::multimap<time_point, io_handler*> timers_;
    std::deque<io_handler*> posted_;
    io_handler* running_ = nullptr;
    std::size_t waiting_to_forget_ = 0;
    std::uint64_t generation_ = 0;
    bool stop_ = false;
    std::thread thread_;
    int owner_pid_ = 0;
};

} // namespace rivulet::platform
