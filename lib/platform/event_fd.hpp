#pragma once

#include "platform/unique_fd.hpp"

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace rivulet::platform {

/// A descriptor that is readable from set() to clear(), for poll and epoll. Threads: any.
class event_fd {
public:
    /// Tells by operator bool, and errno, when there is none to be had.
    event_fd() noexcept : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    int get() const noexcept { return fd_.get(); }
    void set() const noexcept {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
    }
    void clear() const noexcept {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
    }

private:
    unique_fd fd_;
};

} // namespace rivulet::platform
