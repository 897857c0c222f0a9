#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

/// Counts the system calls of one thread, which are carried out as ever. Make and destroy it on another thread: the
/// counted one must have ended before.
class syscall_counter {
public:
    syscall_counter();
    ~syscall_counter();
    syscall_counter(const syscall_counter&) = delete;
    syscall_counter& operator=(const syscall_counter&) = delete;

    /// Counts the calling thread's calls from now until its end. Once. False where the kernel, or the sandbox that we
    /// run in, does not allow it.
    bool count_this_thread();
    std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    /// The number of the last call counted (see asm/unistd.h).
    int last() const noexcept { return last_.load(std::memory_order_relaxed); }

private:
    static constexpr int not_yet = -1;
    static constexpr int never = -2;
    void listen() noexcept;

    std::atomic<int> listener_{not_yet}; ///< descriptor of the seccomp filter's notifications
    std::atomic<std::uint64_t> count_{0};
    std::atomic<int> last_{-1};
    std::thread thread_; ///< lets each call go on
};
