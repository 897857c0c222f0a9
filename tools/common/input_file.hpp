#pragma once

#include "common/stop_signal.hpp"

#include <cstddef>
#include <limits>
#include <string>

namespace rivulet::tools {

/// When to give up waiting. Set before the wait, by the thread that waits.
struct stop_condition {
    const stop_signal& signal;
    double deadline = std::numeric_limits<double>::infinity(); ///< local_clock()

    bool reached() const;
};

/// A file or stdin, read as its bytes arrive; a wait for them ends when the stop condition is reached.
/// Threads: one at a time.
class input_file {
public:
    /// "-" is stdin. `stop` is to outlive this. @throws std::system_error naming the path.
    input_file(const std::string& path, const stop_condition& stop);
    ~input_file();
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;

    /// Appends what there is, at most `room` bytes, waiting for the first. 0: the end, or a stop (see stopped).
    /// @throws std::system_error naming the path.
    std::size_t read_some(std::string& to, std::size_t room = 256 * 1024);
    /// Whether it was a stop, not the end.
    bool stopped() const noexcept { return stop_.reached(); }
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    const stop_condition& stop_;
    int fd_;
};

} // namespace rivulet::tools
