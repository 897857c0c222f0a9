#include "platform/futex.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rivulet::platform {
namespace {

void wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

time_point deadline_after(time_point now, std::chrono::nanoseconds timeout) noexcept {
    if (timeout.count() <= 0)
        return now;
    return timeout >= time_point::max() - now ? time_point::max()
                                              : now + std::chrono::duration_cast<clock::duration>(timeout);
}

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
    timespec until{};
    if (deadline != time_point::max()) {
        const auto since = deadline.time_since_epoch();
        if (since.count() <= 0)
            return;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        until.tv_sec = seconds.count();
        until.tv_nsec = std::chrono::nanoseconds(since - seconds).count();
    }
    ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline == time_point::max() ? nullptr : &until,
              nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept { wake(word, 1); }
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept { wake(word, INT_MAX); }

void light_mutex::lock_slow() noexcept {
    for (int spin = 0; spin < 40; ++spin) {
        if (word_.load(std::memory_order_relaxed) == 0 && try_lock())
            return;
        cpu_relax();
    }
    while (word_.exchange(2, std::memory_order_acquire) != 0)
        futex_wait(word_, 2, time_point::max());
}

bool event::wait(time_point deadline) noexcept {
    for (;;) {
        std::uint32_t state = 1;
        if (word_.compare_exchange_strong(state, 0, std::memory_order_acq_rel))
            return true;
        if (clock::now() >= deadline) {
            state = 2;
            if (word_.compare_exchange_strong(state, 0, std::memory_order_acq_rel) || state == 0)
                return false;
            continue; // set just now
        }
        if (state == 0 && !word_.compare_exchange_strong(state, 2, std::memory_order_acq_rel) && state == 1)
            continue;
        futex_wait(word_, 2, deadline);
    }
}

} // namespace rivulet::platform
