#include "transport/zmq/connection_watch.hpp"

#include "platform/futex.hpp"
#include "platform/unique_fd.hpp"

#include <rivulet/error.hpp>

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <zmq.h>

namespace rivulet::transport::zmq {
namespace {

std::string monitor_name() {
    static std::atomic<std::uint64_t> next{0};
    return "inproc://rivulet-monitor-" + std::to_string(next.fetch_add(1));
}

} // namespace

connection_watch::connection_watch(const zmq_runtime& runtime, zmq_socket& watched) : events_(runtime, ZMQ_PAIR) {
    const std::string name = monitor_name();
    // Unbounded, or a burst of connections would block libzmq's I/O thread until we drain.
    events_.set(ZMQ_RCVHWM, 0);
    if (::zmq_socket_monitor(watched.get(), name.c_str(),
                             ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED) != 0 ||
        ::zmq_connect(events_.get(), name.c_str()) != 0)
        throw error(errc::system, "ZeroMQ: cannot monitor a socket: " + last_reason());
}

int connection_watch::fd() const { return events_.get_int(ZMQ_FD); }

void connection_watch::drain() {
    zmq_msg_t part;
    ::zmq_msg_init(&part);
    while (::zmq_msg_recv(&part, events_.get(), ZMQ_DONTWAIT) >= 0) {
        std::uint16_t event = 0;
        std::int32_t fd = -1;
        if (::zmq_msg_size(&part) == sizeof event + sizeof fd) {
            std::memcpy(&event, ::zmq_msg_data(&part), sizeof event);
            std::memcpy(&fd, static_cast<const char*>(::zmq_msg_data(&part)) + sizeof event, sizeof fd);
        }
        while (::zmq_msg_more(&part) && ::zmq_msg_recv(&part, events_.get(), 0) >= 0) {
        }
        if (event == ZMQ_EVENT_ACCEPTED)
            live_[fd] = next_serial_++;
        else if (event == ZMQ_EVENT_DISCONNECTED)
            live_.erase(fd);
        else if (event == ZMQ_EVENT_CLOSED)
            listener_closed_ = true;
    }
    ::zmq_msg_close(&part);
}

connection connection_watch::find(int fd) const noexcept {
    const auto found = live_.find(fd);
    return found == live_.end() ? connection{} : connection{fd, found->second};
}

connection_watch::verdict connection_watch::shut_down(const connection& c, bool only_if_full) {
    drain();
    if (!alive(c))
        return verdict::gone;
    const platform::unique_fd twin(::fcntl(c.fd, F_DUPFD_CLOEXEC, 0));
    drain();
    if (!alive(c) || !twin)
        return verdict::gone;
    if (only_if_full) {
        pollfd ask{twin.get(), POLLOUT, 0};
        if (::poll(&ask, 1, 0) > 0 && (ask.revents & POLLOUT) != 0 && (ask.revents & (POLLERR | POLLHUP)) == 0)
            return verdict::writable;
    }
    ::shutdown(twin.get(), SHUT_RDWR);
    return verdict::shut;
}

void connection_watch::stop_listening(zmq_socket& watched) {
    constexpr auto patience = std::chrono::milliseconds(500);
    const std::string address = watched.last_endpoint();
    listener_closed_ = false;
    if (address.empty() || ::zmq_unbind(watched.get(), address.c_str()) != 0)
        return;
    const platform::time_point deadline = platform::clock::now() + patience;
    for (drain(); !listener_closed_ && platform::clock::now() < deadline; drain()) {
        pollfd wait{fd(), POLLIN, 0};
        ::poll(&wait, 1, 5);
        (void)watched.get_int(ZMQ_EVENTS); // libzmq's own errands go on
    }
}

void connection_watch::stop(zmq_socket& watched) {
    ::zmq_socket_monitor(watched.get(), nullptr, 0);
    drain();
    events_.close();
}

} // namespace rivulet::transport::zmq
