#include "transport/posix/outgoing.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace rivulet::transport::posix {

written outgoing::attempt(int fd) {
    msghdr message{};
    message.msg_iov = parts_.data() + first_;
    message.msg_iovlen = count_ - first_;
    ssize_t n = 0;
    do {
        n = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS)
            return written::broken;
        n = 0;
    }
    left_ -= static_cast<std::size_t>(n);
    for (auto taken = static_cast<std::size_t>(n); taken > 0;) {
        iovec& part = parts_[first_];
        const std::size_t step = std::min(taken, part.iov_len);
        part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
        part.iov_len -= step;
        taken -= step;
        if (part.iov_len == 0)
            ++first_;
    }
    return left_ == 0 ? written::all : written::partly;
}

written outgoing::send(int fd, std::span<const wire::bytes_view> pieces, std::size_t stable_from,
                       samples::segment* keep) {
    std::size_t bytes = 0;
    for (const wire::bytes_view piece : pieces)
        bytes += piece.size();
    std::array<std::byte, 4> length;
    for (std::size_t i = 0; i < length.size(); ++i)
        length[i] = static_cast<std::byte>(bytes >> (8 * (3 - i)));
    first_ = 0;
    count_ = 0;
    parts_[count_++] = {length.data(), length.size()};
    std::size_t unstable = 1;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].empty())
            continue;
        parts_[count_++] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
        if (i < stable_from)
            unstable = count_;
    }
    left_ = bytes + length.size();
    const written result = attempt(fd);
    if (result != written::partly) {
        left_ = 0;
        return result;
    }
    copied_.clear();
    std::size_t to_copy = 0;
    for (std::size_t i = first_; i < unstable; ++i)
        to_copy += parts_[i].iov_len;
    copied_.reserve(to_copy);
    for (std::size_t i = first_; i < unstable; ++i) {
        const auto* from = static_cast<const std::byte*>(parts_[i].iov_base);
        copied_.insert(copied_.end(), from, from + parts_[i].iov_len);
        parts_[i].iov_base = copied_.data() + (copied_.size() - parts_[i].iov_len);
    }
    keep_ = samples::segment_ref::share(keep);
    return result;
}

written outgoing::resume(int fd) {
    const written result = attempt(fd);
    if (result != written::partly)
        clear();
    return result;
}

void outgoing::clear() noexcept {
    left_ = 0;
    keep_ = {};
}

} // namespace rivulet::transport::posix
