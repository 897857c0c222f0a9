#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rivulet::platform {

using clock = std::chrono::steady_clock; ///< CLOCK_MONOTONIC
using time_point = clock::time_point;

/// now + timeout without overflow; time_point::max() for ever.
time_point deadline_after(time_point now, std::chrono::nanoseconds timeout) noexcept;

/// Sleeps while word == expected, until woken or the deadline. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;
void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept;
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

/// A mutex of one word: half of std::mutex's cost when nobody else wants it, and then no system call. BasicLockable.
class light_mutex {
public:
    void lock() noexcept {
        std::uint32_t free = 0;
        if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
            lock_slow();
    }
    bool try_lock() noexcept {
        std::uint32_t free = 0;
        return word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        if (word_.exchange(0, std::memory_order_release) == 2)
            futex_wake_one(word_);
    }

private:
    void lock_slow() noexcept;
    std::atomic<std::uint32_t> word_{0}; ///< 0 free, 1 held, 2 held and somebody may sleep
};

/// A flag that one thread waits for and others set; setting it when it is set costs no system call.
class event {
public:
    void set() noexcept {
        if (word_.exchange(1, std::memory_order_acq_rel) == 2)
            futex_wake_all(word_);
    }
    /// Waits until it is set, then clears it; false at the deadline.
    bool wait(time_point deadline) noexcept;

private:
    std::atomic<std::uint32_t> word_{0}; ///< 0 clear, 1 set, 2 clear and somebody sleeps
};

} // namespace rivulet::platform
