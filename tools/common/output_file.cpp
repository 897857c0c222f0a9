#include "common/output_file.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {

output_file::output_file(const std::string& path, const stop_signal& stop)
    : path_(path == "-" ? "stdout" : path), stop_(stop),
      fd_(path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot write to '" + path + "'");
    struct stat status {};
    regular_ = fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
}

output_file::~output_file() {
    if (fd_ != STDOUT_FILENO)
        close(fd_);
}

/// False when a stop was asked for and its grace is over.
bool output_file::wait_writable() {
    for (;;) {
        pollfd entries[2] = {{fd_, POLLOUT, 0}, {stop_.fd(), POLLIN, 0}};
        const bool stopping = stop_.requested();
        if (stopping && give_up_ == 0)
            give_up_ = local_clock() + 0.2;
        const long long left = stopping ? nanoseconds_until(give_up_) : 0;
        const timespec grace{0, std::min<long long>(left, 999'999'999)};
        ppoll(entries, stopping ? 1 : 2, stopping ? &grace : nullptr, nullptr);
        if (entries[0].revents != 0)
            return true; // an error is for write to find
        if (stopping && left == 0)
            return false;
    }
}

void output_file::flush() {
    std::string_view left = buffer_;
    while (!left.empty()) {
        // A write of up to PIPE_BUF does not block where poll found room; a longer one would, beyond any stop.
        if (!regular_ && !wait_writable())
            throw output_closed();
        const std::size_t size = regular_ ? left.size() : std::min<std::size_t>(left.size(), PIPE_BUF);
        const auto written = write(fd_, left.data(), size);
        if (written >= 0) {
            left.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (errno == EINTR || errno == EAGAIN)
            continue;
        const int reason = errno;
        buffer_.clear();
        if (reason == EPIPE)
            throw output_closed();
        throw std::system_error(reason, std::generic_category(), "cannot write to '" + path_ + "'");
    }
    buffer_.clear();
}

bool output_file::reader_gone() const noexcept {
    pollfd entry{fd_, 0, 0};
    return !regular_ && poll(&entry, 1, 0) == 1 && (entry.revents & (POLLERR | POLLNVAL)) != 0;
}

bool output_file::is_terminal() const noexcept { return isatty(fd_) == 1; }

void write_report(std::string_view text, bool stdout_is_taken) {
    const int fd = stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO;
    while (!text.empty()) {
        const auto written = write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (written < 0 && errno != EINTR)
            return; // its reader went away, which is no failure of the work
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

} // namespace rivulet::tools
