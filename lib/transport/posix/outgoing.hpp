#pragma once

#include "samples/segment.hpp"
#include "wire/frame.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace rivulet::transport::posix {

/// Result of one attempt to write.
enum class written : std::uint8_t { all, partly, broken };

/// One frame on its way into one socket: its pieces lie where they are (a segment, the caller's memory); only what
/// lay on a stack is copied, and only when the kernel does not take all at once. One sendmsg an attempt.
/// Threads: the link's lock.
class outgoing {
public:
    bool empty() const noexcept { return left_ == 0; }
    std::size_t left() const noexcept { return left_; }

    /// Writes the 4-byte length and the pieces. Pieces before `stable_from` are copied if something is left over; the
    /// others must stay until empty(). `keep`, if given, is held until then.
    written send(int fd, std::span<const wire::bytes_view> pieces, std::size_t stable_from,
                 samples::segment* keep = nullptr);
    /// Goes on with what is left.
    written resume(int fd);
    void clear() noexcept;

private:
    static constexpr std::size_t max_pieces = 8;
    written attempt(int fd);

    std::array<iovec, max_pieces> parts_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t left_ = 0;
    std::vector<std::byte> copied_;
    samples::segment_ref keep_;
};

} // namespace rivulet::transport::posix
