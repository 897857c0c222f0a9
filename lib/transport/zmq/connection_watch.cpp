#include "transport/zmq/connection_watch.hpp"

#include "platform/futex.hpp"
#include "platform/unique_fd.hpp"
#include "transport/zmq/zmq_security.hpp"

#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <zmq.h>

namespace rivulet::transport::zmq {

connection_watch::connection_watch(const zmq_runtime& runtime, zmq_socket& watched, bool curve)
    : monitor_(runtime, watched, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED | refusal_events),
      curve_(curve) {}

void connection_watch::drain() {
    for (int event = 0, fd = -1; monitor_.next(event, fd);) {
        if (event == ZMQ_EVENT_ACCEPTED)
            live_[fd] = next_serial_++;
        else if (event == ZMQ_EVENT_DISCONNECTED)
            live_.erase(fd);
        else if (event == ZMQ_EVENT_CLOSED)
            listener_closed_ = true;
        else if (const std::string_view why = refusal_by_us(event, fd, curve_); !why.empty()) {
            ++refused_;
            last_refusal_ = why;
            refusal_certain_ = event != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
        }
    }
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

void connection_watch::stop(zmq_socket& watched) { monitor_.stop(watched); }

} // namespace rivulet::transport::zmq
