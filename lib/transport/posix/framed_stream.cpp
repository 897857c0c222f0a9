#include "transport/posix/framed_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rivulet::transport::posix {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t read_bytes = 16u << 10;

} // namespace

std::size_t framed_stream::next_length() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        bytes = bytes << 8 | std::to_integer<std::size_t>(in_[taken_ + i]);
    return bytes;
}

bool framed_stream::length_allowed() const noexcept {
    return pending_bytes() < length_bytes || next_length() <= max_frame_;
}

bool framed_stream::has_frame() const noexcept {
    return pending_bytes() >= length_bytes && pending_bytes() - length_bytes >= next_length();
}

/// Memory grows as bytes come: a length alone buys none.
framed_stream::state framed_stream::read(std::size_t budget) {
    std::array<std::byte, read_bytes> buffer;
    while (budget > 0) {
        const ssize_t n = ::recv(fd_.get(), buffer.data(), std::min(budget, buffer.size()), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n <= 0)
            return n == 0 ? state::ended : state::broken;
        const std::size_t before = in_.size();
        in_.resize(before + static_cast<std::size_t>(n));
        std::memcpy(in_.data() + before, buffer.data(), static_cast<std::size_t>(n));
        budget -= static_cast<std::size_t>(n);
        if (!length_allowed())
            return state::broken;
        if (has_frame())
            break; // one at a time: what it costs to answer decides how soon the next is read
    }
    return state::open;
}

std::optional<std::vector<std::byte>> framed_stream::take_frame() {
    if (!length_allowed() || !has_frame())
        return std::nullopt;
    const std::size_t bytes = next_length();
    const auto begin = in_.begin() + static_cast<std::ptrdiff_t>(taken_ + length_bytes);
    std::vector<std::byte> frame(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    taken_ += length_bytes + bytes;
    if (taken_ == in_.size()) {
        in_.clear();
        taken_ = 0;
        if (in_.capacity() > read_bytes)
            in_.shrink_to_fit(); // a large request is an exception
    } else if (taken_ > read_bytes) {
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(taken_));
        taken_ = 0;
    }
    return frame;
}

bool framed_stream::send(std::vector<std::byte> frame) {
    std::vector<std::byte> length(length_bytes);
    for (std::size_t i = 0; i < length_bytes; ++i)
        length[i] = static_cast<std::byte>(frame.size() >> (8 * (length_bytes - 1 - i)));
    unsent_ += length.size() + frame.size();
    out_.push_back(std::move(length));
    out_.push_back(std::move(frame));
    return flush();
}

bool framed_stream::flush() {
    while (!out_.empty()) {
        std::array<iovec, 8> parts{};
        std::size_t count = 0;
        for (; count < std::min(parts.size(), out_.size()); ++count) {
            const std::size_t skip = count == 0 ? out_done_ : 0;
            parts[count] = {out_[count].data() + skip, out_[count].size() - skip};
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = count;
        const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
        unsent_ -= static_cast<std::size_t>(n);
        out_done_ += static_cast<std::size_t>(n);
        while (!out_.empty() && out_done_ >= out_.front().size()) {
            out_done_ -= out_.front().size();
            out_.pop_front();
        }
    }
    return true;
}

} // namespace rivulet::transport::posix
