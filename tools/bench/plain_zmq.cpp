#include "bench/plain_zmq.hpp"

#include "bench/plain_framing.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>
#include <sys/eventfd.h>
#include <unistd.h>

namespace rivulet::tools::bench {
namespace {

void check(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(fmt::format("{}: {}", what, zmq_strerror(zmq_errno())));
}

/// libzmq's default of 1000 messages, but not hundreds of megabytes of them.
int high_water_mark(const work& w) {
    return static_cast<int>(std::clamp<std::size_t>((8u << 20) / std::max<std::size_t>(w.chunk_bytes(), 1), 16, 1000));
}

void released_one(void*, void* hint) {
    if (hint == nullptr)
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(*static_cast<int*>(hint), &one, sizeof one);
}

} // namespace

plain_zmq_sender::plain_zmq_sender(const work& w, const std::string& path)
    : work_(w), context_(zmq_ctx_new()), next_(w.streams, 0), released_(::eventfd(0, EFD_CLOEXEC)) {
    for (std::size_t i = 0; i < w.streams; ++i) {
        void* socket = zmq_socket(context_, ZMQ_XPUB);
        const int hwm = high_water_mark(w), on = 1, none = 0;
        zmq_setsockopt(socket, ZMQ_SNDHWM, &hwm, sizeof hwm);
        zmq_setsockopt(socket, ZMQ_XPUB_NODROP, &on, sizeof on);
        // Tells each subscription and its end, not only a topic's first and last.
        zmq_setsockopt(socket, ZMQ_XPUB_VERBOSER, &on, sizeof on);
        zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
        const std::string endpoint =
            w.over == carrier::zmq_tcp ? std::string("tcp://127.0.0.1:*") : fmt::format("ipc://{}{}", path, i);
        check(zmq_bind(socket, endpoint.c_str()) == 0, "plain libzmq: cannot bind");
        char bound[256] = "";
        std::size_t size = sizeof bound;
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size);
        endpoints_ += fmt::format("{}{}", i == 0 ? "" : " ", bound);
        sockets_.push_back(socket);
    }
}

plain_zmq_sender::~plain_zmq_sender() { ::close(released_); }

/// As many subscriptions, or ends of them, as there are consumers.
void plain_zmq_sender::wait_for_changes(void* socket) const {
    for (std::uint64_t i = 0; i < work_.consumers; ++i) {
        char subscription[16];
        check(zmq_recv(socket, subscription, sizeof subscription, 0) >= 0, "plain libzmq: no subscription");
    }
}

void plain_zmq_sender::wait_for_consumers() {
    for (void* socket : sockets_)
        wait_for_changes(socket);
}

void plain_zmq_sender::send(std::size_t stream, const std::byte* values, double stamp) {
    void* const socket = sockets_[stream];
    const std::size_t bytes = work_.chunk_bytes();
    head_buffer head;
    write_head(head,
               {next_[stream], static_cast<std::uint32_t>(work_.chunk), stamp, static_cast<std::uint32_t>(bytes)});
    next_[stream] += work_.chunk;
    zmq_msg_t message;
    if (work_.how == way::zmq_copied) {
        zmq_msg_init_size(&message, head_bytes + bytes);
        auto* const at = static_cast<std::byte*>(zmq_msg_data(&message));
        std::memcpy(at, head.data() + length_bytes, head_bytes);
        std::memcpy(at + head_bytes, values, bytes);
        check(zmq_msg_send(&message, socket, 0) >= 0, "plain libzmq: cannot send");
        return;
    }
    check(zmq_send(socket, head.data() + length_bytes, head_bytes, ZMQ_SNDMORE) >= 0, "plain libzmq: cannot send");
    const bool waits = work_.how == way::zmq_released;
    zmq_msg_init_data(&message, const_cast<std::byte*>(values), bytes, released_one, waits ? &released_ : nullptr);
    check(zmq_msg_send(&message, socket, 0) >= 0, "plain libzmq: cannot send");
    if (waits)
        wait_for_release();
}

void plain_zmq_sender::wait_for_release() {
    std::uint64_t count = 0;
    while (::read(released_, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void plain_zmq_sender::finish() {
    for (void* socket : sockets_)
        check(zmq_send(socket, "", 0, 0) >= 0, "plain libzmq: cannot send the end");
    for (void* socket : sockets_) {
        wait_for_changes(socket); // who has the end leaves
        zmq_close(socket);
    }
    zmq_ctx_term(context_);
}

// --------------------------------------------------------------------------------------------------------------------

plain_zmq_receiver::plain_zmq_receiver(const work& w, const std::string& endpoints)
    : work_(w), context_(zmq_ctx_new()), copy_(w.chunk_bytes()) {
    std::istringstream list(endpoints);
    for (std::string endpoint; list >> endpoint;) {
        stream_state& s = streams_.emplace_back();
        s.socket = zmq_socket(context_, ZMQ_SUB);
        const int hwm = high_water_mark(w), none = 0;
        zmq_setsockopt(s.socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
        zmq_setsockopt(s.socket, ZMQ_LINGER, &none, sizeof none);
        zmq_setsockopt(s.socket, ZMQ_SUBSCRIBE, "", 0);
        check(zmq_connect(s.socket, endpoint.c_str()) == 0, "plain libzmq: cannot connect");
    }
}

plain_zmq_receiver::~plain_zmq_receiver() {
    for (const stream_state& s : streams_)
        zmq_close(s.socket);
    zmq_ctx_term(context_);
}

bool plain_zmq_receiver::take_message(stream_state& s, arrival& got, int flags) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, s.socket, flags) < 0) {
        check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "plain libzmq: cannot receive");
        return false;
    }
    if (zmq_msg_size(&part) < head_bytes) {
        s.ended = true;
        zmq_msg_close(&part);
        return true;
    }
    const auto* at = static_cast<const std::byte*>(zmq_msg_data(&part));
    const plain_head head = read_head(at);
    const std::byte* payload = at + head_bytes;
    if (zmq_msg_more(&part) != 0) {
        zmq_msg_recv(&part, s.socket, 0);
        payload = static_cast<const std::byte*>(zmq_msg_data(&part));
    }
    if (work_.copy_out)
        std::memcpy(copy_.data(), payload, head.payload_bytes);
    zmq_msg_close(&part);
    got.samples += head.count;
    got.lost += head.first - s.next;
    got.stamp = head.stamp;
    s.next = head.first + head.count;
    return true;
}

arrival plain_zmq_receiver::receive() {
    arrival got;
    if (streams_.size() == 1) {
        stream_state& s = streams_.front();
        while (!s.ended && !take_message(s, got, 0)) {
        }
        got.ended = s.ended;
        return got;
    }
    for (;;) {
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            turn_ = (turn_ + 1) % streams_.size();
            if (stream_state& s = streams_[turn_]; !s.ended && take_message(s, got, ZMQ_DONTWAIT) && !s.ended)
                return got;
        }
        got.ended = std::ranges::all_of(streams_, &stream_state::ended);
        if (got.ended)
            return got;
        std::vector<zmq_pollitem_t> items;
        for (const stream_state& s : streams_)
            if (!s.ended)
                items.push_back({s.socket, 0, ZMQ_POLLIN, 0});
        zmq_poll(items.data(), static_cast<int>(items.size()), -1);
    }
}

} // namespace rivulet::tools::bench
