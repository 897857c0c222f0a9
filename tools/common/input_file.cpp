#include "common/input_file.hpp"

#include <rivulet/clock.hpp>

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {

bool stop_condition::reached() const { return signal.requested() || local_clock() >= deadline; }

input_file::input_file(const std::string& path, const stop_condition& stop)
    : path_(path == "-" ? "stdin" : path), stop_(stop),
      fd_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (fd_ >= 0 && fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(fd_);
        fd_ = -1;
        errno = EISDIR;
    }
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot read '" + path + "'");
}

input_file::~input_file() {
    if (fd_ != STDIN_FILENO)
        close(fd_);
}

std::size_t input_file::read_some(std::string& to, std::size_t room) {
    for (;;) {
        if (stop_.reached())
            return 0;
        pollfd entries[2] = {{fd_, POLLIN, 0}, {stop_.signal.fd(), POLLIN, 0}};
        const long long left = nanoseconds_until(stop_.deadline);
        const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(entries, 2, &wait, nullptr);
        if (entries[0].revents == 0 || entries[1].revents != 0)
            continue;
        const std::size_t before = to.size();
        to.resize(before + room);
        const auto got = read(fd_, to.data() + before, room);
        const int reason = errno;
        to.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (reason != EINTR && reason != EAGAIN)
            throw std::system_error(reason, std::generic_category(), "cannot read '" + path_ + "'");
    }
}

} // namespace rivulet::tools
