#pragma once

#include "platform/futex.hpp"
#include "platform/unique_fd.hpp"
#include "wire/frame.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace rivulet::transport::posix {

/// A connection that carries whole frames both ways, each after its 4-byte length; for the service's small messages,
/// which are copied. Not for sample data. Threads: the owner's lock.
class framed_stream {
public:
    framed_stream(platform::unique_fd fd, std::size_t max_frame) : fd_(std::move(fd)), max_frame_(max_frame) {}

    int fd() const noexcept { return fd_.get(); }

    enum class state : std::uint8_t { open, ended, broken };
    /// Reads what is there, at most about `budget` bytes. Not `open`: nothing more will come (frames that are complete
    /// may still be taken), or garbage came.
    state read(std::size_t budget);
    /// The next complete frame, without its length.
    std::optional<std::vector<std::byte>> take_frame();
    /// Bytes of a frame that has begun.
    std::size_t pending_bytes() const noexcept { return in_.size() - taken_; }
    /// There is a complete frame.
    bool has_frame() const noexcept;

    /// Puts a frame behind what waits already and writes what the kernel takes. False: broken.
    bool send(std::vector<std::byte> frame);
    bool flush();
    std::size_t unsent_bytes() const noexcept { return unsent_; }

private:
    bool length_allowed() const noexcept;
    std::size_t next_length() const noexcept;

    platform::unique_fd fd_;
    const std::size_t max_frame_;
    std::vector<std::byte> in_;
    std::size_t taken_ = 0; ///< of in_, in frames already given out
    std::deque<std::vector<std::byte>> out_;
    std::size_t out_done_ = 0; ///< of out_.front()
    std::size_t unsent_ = 0;
};

} // namespace rivulet::transport::posix
