#include "platform/unique_fd.hpp"

#include <cerrno>
#include <unistd.h>

namespace rivulet::platform {

void unique_fd::reset(int fd) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old < 0)
        return;
    const int before = errno;
    ::close(old);
    errno = before;
}

} // namespace rivulet::platform
