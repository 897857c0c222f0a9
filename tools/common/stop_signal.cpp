#include "common/stop_signal.hpp"

#include <rivulet/clock.hpp>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {
namespace {

std::atomic<int> handler_fd{-1};
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
    const int saved = errno;
    stop_requested.store(true);
    const std::uint64_t one = 1;
    if (const int fd = handler_fd.load(); fd >= 0) [[maybe_unused]]
        const auto written = write(fd, &one, sizeof one);
    errno = saved;
}

} // namespace

stop_signal::stop_signal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
    stop_requested = false;
    handler_fd = fd_;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // nohup sets SIGHUP to be ignored, which is to stay so.
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    // The default slack of 50 us would be added to every wait of a paced source.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

stop_signal::~stop_signal() {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    handler_fd = -1;
    close(fd_);
}

bool stop_signal::requested() const noexcept { return stop_requested.load(); }

void stop_signal::request() noexcept { on_signal(0); }

bool stop_signal::wait_until(double deadline) const {
    for (;;) {
        if (requested())
            return true;
        const long long left = nanoseconds_until(deadline);
        if (left == 0)
            return false;
        pollfd entry{fd_, POLLIN, 0};
        const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(&entry, 1, &wait, nullptr);
    }
}

long long nanoseconds_until(double deadline) noexcept {
    constexpr double longest = 1e9; // seconds; keeps the product within range
    const double left = deadline - local_clock();
    return left > 0 ? static_cast<long long>((left < longest ? left : longest) * 1e9) + 1 : 0;
}

} // namespace rivulet::tools
