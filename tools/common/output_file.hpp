#pragma once

#include "common/stop_signal.hpp"

#include <string>
#include <string_view>

namespace rivulet::tools {

/// Thrown when the reader of a pipe went away: a tool then ends quietly.
struct output_closed {};

/// A file or stdout, written in large pieces. A pipe whose reader does not read holds write up, but never beyond a
/// stop: then what is left gets 200 ms more and is given up.
/// Threads: one at a time.
class output_file {
public:
    /// Opens (and empties) a file; "-" is stdout. @throws std::system_error naming the path.
    output_file(const std::string& path, const stop_signal& stop);
    /// Closes without writing what was not flushed: flush says whether it worked.
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    /// The text to come: append here, then call written().
    std::string& buffer() noexcept { return buffer_; }
    /// Writes the buffer when it is large. @throws as flush.
    void written() {
        if (buffer_.size() >= write_size)
            flush();
    }
    /// Writes all of the buffer. @throws output_closed; std::system_error naming the path.
    void flush();
    bool reader_gone() const noexcept;

    const std::string& path() const noexcept { return path_; }
    bool is_terminal() const noexcept;

private:
    static constexpr std::size_t write_size = 128 * 1024;
    bool wait_writable();

    std::string path_;
    const stop_signal& stop_;
    int fd_;
    bool regular_ = false;
    double give_up_ = 0; ///< local_clock() after a stop
    std::string buffer_;
};

/// What a tool says at its end: on stdout, or on stderr where stdout is for something else.
void write_report(std::string_view text, bool stdout_is_taken);

} // namespace rivulet::tools
