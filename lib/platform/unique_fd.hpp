#pragma once

#include <utility>

namespace rivulet::platform {

/// Owns a file descriptor and closes it. Threads: as an int.
class unique_fd {
public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    ~unique_fd() { reset(); }
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Gives the descriptor away; the caller closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes the descriptor and owns `fd` instead. close() is not repeated after EINTR: Linux has freed it by then,
    /// and another thread may have it already. errno is left as it was.
    void reset(int fd = -1) noexcept;

private:
    int fd_ = -1;
};

} // namespace rivulet::platform
