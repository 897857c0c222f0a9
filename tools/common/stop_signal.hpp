#pragma once

#include <atomic>

namespace rivulet::tools {

/// SIGINT, SIGTERM and SIGHUP as something to wait on. While one exists (at most one does) these signals no longer end
/// the process, also when it is PID 1, and SIGPIPE is ignored, so that a reader that went away is an error of write.
/// Threads: any.
class stop_signal {
public:
    /// @throws std::system_error.
    stop_signal();
    ~stop_signal();
    stop_signal(const stop_signal&) = delete;
    stop_signal& operator=(const stop_signal&) = delete;

    /// Readable once a stop was asked for, and from then on.
    int fd() const noexcept { return fd_; }
    bool requested() const noexcept;
    /// As the signals do.
    void request() noexcept;
    /// Waits until local_clock() reaches `deadline`; true at once when a stop was asked for.
    bool wait_until(double deadline) const;

private:
    int fd_;
};

/// What poll(2) takes for a wait until local_clock() reaches `deadline`, in nanoseconds; never negative.
long long nanoseconds_until(double deadline) noexcept;

} // namespace rivulet::tools
