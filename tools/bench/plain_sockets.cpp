#include "bench/plain_sockets.hpp"

#include "common/numbers.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools::bench {
namespace {

constexpr std::size_t batch_bytes = 64u << 10;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void no_delay(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

union any_address {
    sockaddr base;
    sockaddr_in in;
    sockaddr_un un;
};

/// An address of this host: a port, or else a path. @return its length.
socklen_t make_address(const std::string& endpoint, any_address& out) {
    out = {};
    if (const auto port = parse_number<std::uint16_t>(endpoint)) {
        out.in.sin_family = AF_INET;
        out.in.sin_port = htons(*port);
        out.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof out.in;
    }
    out.un.sun_family = AF_UNIX;
    endpoint.copy(out.un.sun_path, sizeof out.un.sun_path - 1);
    return sizeof out.un;
}

} // namespace

plain_sender::plain_sender(const work& w, const std::string& path) : work_(w), streams_(w.streams) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        stream_state& s = streams_[i];
        any_address address{};
        const bool tcp = w.over == carrier::posix_tcp;
        socklen_t size = make_address(tcp ? std::string("0") : fmt::format("{}{}", path, i), address);
        s.listener = ::socket(address.base.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s.listener < 0 || ::bind(s.listener, &address.base, size) != 0 || ::listen(s.listener, 64) != 0)
            fail("plain loop: cannot listen");
        ::getsockname(s.listener, &address.base, &size);
        const auto name = tcp ? number_text(ntohs(address.in.sin_port)) : std::string(address.un.sun_path);
        endpoints_ += fmt::format("{}{}", i == 0 ? "" : " ", name);
    }
}

plain_sender::~plain_sender() {
    for (const stream_state& s : streams_) {
        for (const int fd : s.peers)
            ::close(fd);
        ::close(s.listener);
    }
}

void plain_sender::wait_for_consumers() {
    for (stream_state& s : streams_)
        for (std::uint64_t i = 0; i < work_.consumers; ++i) {
            const int fd = ::accept4(s.listener, nullptr, nullptr, SOCK_CLOEXEC);
            if (fd < 0)
                fail("plain loop: cannot accept");
            if (work_.over == carrier::posix_tcp)
                no_delay(fd);
            s.peers.push_back(fd);
        }
}

void plain_sender::write_all(int fd, std::span<const std::byte> head, std::span<const std::byte> payload) const {
    iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                      {const_cast<std::byte*>(payload.data()), payload.size()}};
    iovec* at = parts;
    for (int left = 2; left > 0;) {
        const ssize_t n = ::writev(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail("plain loop: cannot write");
        auto taken = static_cast<std::size_t>(n);
        for (; left > 0 && taken >= at->iov_len; --left)
            taken -= at++->iov_len;
        if (left > 0) {
            at->iov_base = static_cast<std::byte*>(at->iov_base) + taken;
            at->iov_len -= taken;
        }
    }
}

void plain_sender::send(std::size_t stream, const std::byte* values, double stamp) {
    stream_state& s = streams_[stream];
    head_buffer head;
    write_head(head, {s.next, static_cast<std::uint32_t>(work_.chunk), stamp,
                      static_cast<std::uint32_t>(work_.chunk_bytes())});
    s.next += work_.chunk;
    const std::span payload(values, work_.chunk_bytes());
    if (work_.how == way::plain_batched) {
        s.gathered.insert(s.gathered.end(), head.begin(), head.end());
        s.gathered.insert(s.gathered.end(), payload.begin(), payload.end());
        if (s.gathered.size() >= batch_bytes)
            flush(s);
        return;
    }
    for (const int fd : s.peers)
        write_all(fd, head, payload);
}

void plain_sender::flush(stream_state& s) const {
    for (const int fd : s.peers)
        write_all(fd, s.gathered, {});
    s.gathered.clear();
}

void plain_sender::finish() {
    for (stream_state& s : streams_) {
        flush(s);
        for (const int fd : s.peers)
            ::shutdown(fd, SHUT_WR);
    }
}

// --------------------------------------------------------------------------------------------------------------------

plain_receiver::plain_receiver(const work& w, const std::string& endpoints) : work_(w), copy_(w.chunk_bytes()) {
    std::istringstream list(endpoints);
    for (std::string endpoint; list >> endpoint;) {
        any_address address{};
        const socklen_t size = make_address(endpoint, address);
        stream_state& s = streams_.emplace_back();
        s.fd = ::socket(address.base.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s.fd < 0 || ::connect(s.fd, &address.base, size) != 0)
            fail("plain loop: cannot connect");
        if (w.over == carrier::posix_tcp)
            no_delay(s.fd);
        s.buffer.resize(std::max<std::size_t>(256u << 10, 2 * (w.chunk_bytes() + sizeof(head_buffer))));
    }
}

plain_receiver::~plain_receiver() {
    for (const stream_state& s : streams_)
        ::close(s.fd);
}

bool plain_receiver::take_frame(stream_state& s, arrival& got) {
    const std::byte* const at = s.buffer.data() + s.begin;
    const std::size_t have = s.end - s.begin;
    if (have < sizeof(head_buffer))
        return false;
    const std::size_t frame = length_bytes + detail::get<std::uint32_t>(at);
    if (have < frame)
        return false;
    const plain_head head = read_head(at + length_bytes);
    if (work_.copy_out)
        std::memcpy(copy_.data(), at + sizeof(head_buffer), head.payload_bytes);
    got.samples += head.count;
    got.lost += head.first - s.next;
    got.stamp = head.stamp;
    s.next = head.first + head.count;
    s.begin += frame;
    return true;
}

void plain_receiver::read_more(stream_state& s) {
    if (s.begin == s.end)
        s.begin = s.end = 0;
    const std::size_t largest = work_.chunk_bytes() + sizeof(head_buffer);
    if (s.buffer.size() - s.begin < largest) { // the frame that has begun would not fit
        std::memmove(s.buffer.data(), s.buffer.data() + s.begin, s.end - s.begin);
        s.end -= s.begin;
        s.begin = 0;
    }
    ssize_t n = 0;
    do
        n = ::recv(s.fd, s.buffer.data() + s.end, s.buffer.size() - s.end, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        fail("plain loop: cannot receive");
    s.ended = n == 0;
    s.end += static_cast<std::size_t>(n);
}

plain_receiver::stream_state& plain_receiver::wait_for_any() {
    std::vector<pollfd> fds;
    for (const stream_state& s : streams_)
        fds.push_back({s.ended ? -1 : s.fd, POLLIN, 0});
    while (::poll(fds.data(), fds.size(), -1) < 0)
        if (errno != EINTR)
            fail("plain loop: cannot poll");
    for (std::size_t i = 1; i <= fds.size(); ++i)
        if (const std::size_t k = (turn_ + i) % fds.size(); fds[k].revents != 0) {
            turn_ = k;
            break;
        }
    return streams_[turn_];
}

arrival plain_receiver::receive() {
    arrival got;
    stream_state* s = &streams_[turn_];
    for (;;) {
        // Small frames come many at once; one return for all of them, as pull_chunk does it. For ages, each counts.
        while (take_frame(*s, got) && !work_.latency) {
        }
        if (got.samples != 0)
            return got;
        if (std::ranges::all_of(streams_, &stream_state::ended)) {
            got.ended = true;
            return got;
        }
        if (streams_.size() > 1)
            s = &wait_for_any();
        read_more(*s);
    }
}

} // namespace rivulet::tools::bench
