#include "common/watcher.hpp"

#include <rivulet/clock.hpp>

#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {

watcher::watcher(const stop_signal& signal, std::function<void()> tick, std::function<void()> stopped)
    : tick_(std::move(tick)), stopped_(std::move(stopped)), finish_fd_(eventfd(0, EFD_CLOEXEC)) {
    if (finish_fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
    thread_ = std::thread([this, &signal] { run(signal); });
    pthread_setname_np(thread_.native_handle(), "watcher");
}

watcher::~watcher() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(finish_fd_, &one, sizeof one);
    thread_.join();
    close(finish_fd_);
}

void watcher::run(const stop_signal& signal) {
    double due = local_clock() + 1;
    bool told = false;
    for (;;) {
        pollfd entries[2] = {{finish_fd_, POLLIN, 0}, {signal.fd(), POLLIN, 0}};
        const long long left = nanoseconds_until(due);
        const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(entries, told ? 1 : 2, tick_ ? &wait : nullptr, nullptr);
        if (entries[0].revents != 0)
            return;
        if (!told && entries[1].revents != 0) {
            told = true;
            stopped_();
        }
        if (tick_ && local_clock() >= due) {
            due = local_clock() + 1;
            tick_();
        }
    }
}

} // namespace rivulet::tools
