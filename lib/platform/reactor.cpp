#include "platform/reactor.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace rivulet::platform {
namespace {

[[noreturn]] void refuse(const char* what) {
    throw error(errc::system, std::string("I/O thread: ") + what + ": " + std::strerror(errno));
}

constexpr std::uint64_t wake_key = UINT64_MAX;

std::uint64_t key_of(int fd, std::uint64_t generation) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(fd)) | (generation << 32);
}

} // namespace

reactor::reactor(std::string thread_name) : name_(std::move(thread_name)), owner_pid_(::getpid()) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = wake_key;
    if (epoll_ < 0 || !wake_ || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_.get(), &event) < 0)
        refuse("cannot make an epoll descriptor");
}

reactor::~reactor() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake();
    if (thread_.joinable()) {
        if (owner_pid_ != ::getpid() || on_this_thread())
            thread_.detach(); // a forked child has no such thread; the thread itself cannot wait for itself
        else
            thread_.join();
    }
    ::close(epoll_);
}

void reactor::start_locked() {
    if (thread_.joinable())
        return;
    thread_ = std::thread([this] {
        ::pthread_setname_np(::pthread_self(), name_.substr(0, 15).c_str());
        thread_id_.store(std::this_thread::get_id());
        run();
    });
}

void reactor::wake() noexcept { wake_.set(); }

void reactor::watch(int fd, std::uint32_t events, io_handler& handler) {
    const std::lock_guard lock(mutex_);
    start_locked();
    generation_ = (generation_ + 1) & 0x7fffffff;
    epoll_event event{};
    event.events = events;
    event.data.u64 = key_of(fd, generation_);
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0)
        refuse("cannot watch a descriptor");
    watched_[fd] = {&handler, generation_};
}

void reactor::change(int fd, std::uint32_t events) {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(fd);
    if (found == watched_.end())
        return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = key_of(fd, found->second.generation);
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void reactor::unwatch(int fd) noexcept {
    const std::lock_guard lock(mutex_);
    if (watched_.erase(fd))
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void reactor::set_due_locked(io_handler& handler, time_point when) {
    if (handler.due_ == when)
        return;
    const auto [begin, end] = timers_.equal_range(handler.due_);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return entry.second == &handler; });
    if (found != end)
        timers_.erase(found);
    handler.due_ = when;
    if (when == time_point::max())
        return;
    start_locked();
    if (timers_.empty() || when < timers_.begin()->first)
        if (!on_this_thread())
            wake();
    timers_.emplace(when, &handler);
}

void reactor::schedule(io_handler& handler, time_point when) {
    const std::lock_guard lock(mutex_);
    set_due_locked(handler, when);
}

void reactor::schedule_earlier(io_handler& handler, time_point when) {
    const std::lock_guard lock(mutex_);
    if (when < handler.due_)
        set_due_locked(handler, when);
}

void reactor::post(io_handler& handler) {
    if (handler.posted_.exchange(true, std::memory_order_seq_cst))
        return;
    {
        const std::lock_guard lock(mutex_);
        start_locked();
        posted_.push_back(&handler);
    }
    if (asleep_.exchange(false, std::memory_order_seq_cst))
        wake();
}

void reactor::forget(io_handler& handler) noexcept {
    std::unique_lock lock(mutex_);
    std::erase_if(watched_, [&](const auto& entry) {
        if (entry.second.handler != &handler)
            return false;
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, entry.first, nullptr);
        return true;
    });
    set_due_locked(handler, time_point::max());
    std::erase(posted_, &handler);
    if (running_ == &handler && !on_this_thread()) {
        ++waiting_to_forget_;
        call_done_.wait(lock, [&] { return running_ != &handler; });
        --waiting_to_forget_;
    }
    // The call that was under way may have asked for more.
    std::erase_if(watched_, [&](const auto& entry) { return entry.second.handler == &handler; });
    set_due_locked(handler, time_point::max());
    std::erase(posted_, &handler);
    handler.posted_.store(false, std::memory_order_relaxed);
}

int reactor::wait_milliseconds(time_point now) {
    const std::lock_guard lock(mutex_);
    if (!posted_.empty() || stop_)
        return 0;
    asleep_.store(true, std::memory_order_seq_cst);
    if (timers_.empty())
        return -1;
    const auto left = timers_.begin()->first - now;
    if (left.count() <= 0)
        return 0;
    // Rounded up: waking early would spin.
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
}

void reactor::run() {
    std::array<epoll_event, 64> events;
    for (;;) {
        const int timeout = wait_milliseconds(clock::now());
        const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
        asleep_.store(false, std::memory_order_seq_cst);
        for (int i = 0; i < ready; ++i)
            dispatch_ready(events[static_cast<std::size_t>(i)].data.u64, events[static_cast<std::size_t>(i)].events);
        dispatch_turns(clock::now());
        const std::lock_guard lock(mutex_);
        if (stop_)
            return;
    }
}

void reactor::finish_call(std::unique_lock<std::mutex>& lock) {
    lock.lock();
    running_ = nullptr;
    if (waiting_to_forget_)
        call_done_.notify_all();
}

void reactor::dispatch_ready(std::uint64_t key, std::uint32_t events) {
    if (key == wake_key)
        return wake_.clear();
    const int fd = static_cast<int>(static_cast<std::uint32_t>(key));
    std::unique_lock lock(mutex_);
    const auto found = watched_.find(fd);
    if (found == watched_.end() || found->second.generation != key >> 32)
        return; // taken away since epoll_wait returned
    io_handler& handler = *found->second.handler;
    running_ = &handler;
    lock.unlock();
    handler.on_ready(fd, events);
    finish_call(lock);
}

void reactor::call_turn(std::unique_lock<std::mutex>& lock, io_handler& handler, time_point now) {
    running_ = &handler;
    lock.unlock();
    handler.on_turn(now);
    finish_call(lock);
}

void reactor::dispatch_turns(time_point now) {
    std::unique_lock lock(mutex_);
    while (!timers_.empty() && timers_.begin()->first <= now) {
        io_handler& handler = *timers_.begin()->second;
        timers_.erase(timers_.begin());
        handler.due_ = time_point::max();
        call_turn(lock, handler, now);
    }
    // Only those posted so far: a handler that posts itself must let descriptors have their turn.
    for (std::size_t left = posted_.size(); left > 0 && !posted_.empty(); --left) {
        io_handler& handler = *posted_.front();
        posted_.pop_front();
        handler.posted_.store(false, std::memory_order_seq_cst);
        call_turn(lock, handler, now);
    }
}

} // namespace rivulet::platform
