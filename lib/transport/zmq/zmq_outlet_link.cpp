#include "transport/zmq/zmq_outlet_link.hpp"

#include "platform/tsan.hpp"
#include "transport/io_context.hpp"
#include "transport/zmq/zmq_bind.hpp"
#include "transport/zmq/zmq_security.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <zmq.h>

namespace rivulet::transport::zmq {

using platform::clock;

namespace {

constexpr int max_message_bytes = 1024; ///< of what subscribers send: topics

} // namespace

std::unique_ptr<outlet_link> listen(const transport::endpoint& where, const outlet_environment& environment) {
    return std::make_unique<zmq_outlet_link>(where, environment);
}

// --- opening and closing --------------------------------------------------------------------------------------------

zmq_outlet_link::zmq_outlet_link(const transport::endpoint& where, const outlet_environment& environment)
    : environment_(environment), runtime_(environment.io->backend<zmq_runtime>()),
      signal_(std::make_shared<release_signal>(environment.io->io, *this, environment.drains)),
      socket_(*runtime_, ZMQ_XPUB), watch_(*runtime_, socket_, environment.io->keys->curve()) {
    try {
        transport::endpoint here = where;
        configure(here);
        bind(std::move(here));
    } catch (...) {
        signal_->detach();
        watch_.stop(socket_);
        throw;
    }
    socket_fd_ = socket_.get_int(ZMQ_FD);
    watch_fd_ = watch_.fd();
    if (environment_.log)
        environment_.log->add_waiter(*this);
    environment_.io->io.watch(socket_fd_, EPOLLIN, *this);
    environment_.io->io.watch(watch_fd_, EPOLLIN, *this);
    environment_.io->io.post(*this);
}

zmq_outlet_link::~zmq_outlet_link() { close(time_point::min()); }

void zmq_outlet_link::configure(transport::endpoint& where) {
    socket_.set(ZMQ_XPUB_VERBOSER, 1);
    // Nothing is ever dropped inside libzmq: what is in flight is bounded by each lane's window.
    socket_.set(ZMQ_SNDHWM, 0);
    socket_.set(ZMQ_RCVHWM, 16);
    socket_.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(max_message_bytes + curve_overhead));
    socket_.set(ZMQ_HANDSHAKE_IVL, 5000);
    socket_.set(ZMQ_BACKLOG, 1024);
    keep_alive(socket_, where);
    secure_server(socket_, *environment_.io->keys, where);
}

void zmq_outlet_link::bind(transport::endpoint where) {
    guard_ = guard_path(where);
    where.port = zmq::bind(socket_, where, environment_.io->settings.ports);
    if (where.wildcard_host())
        where.host = "127.0.0.1";
    endpoint_ = where.to_string();
}

/// Sends what is left and the end; true when all consumers have it.
bool zmq_outlet_link::finish_up(time_point now) {
    const std::lock_guard lock(mutex_);
    watch_.drain();
    read_subscriptions(now);
    pump(now, SIZE_MAX);
    bool done = true;
    for_each_lane([&](consumer_lane& lane) {
        if (lane.kicked)
            return;
        if (!lane.caught_up()) {
            done = false;
            return;
        }
        if (!lane.ended) {
            send_status(lane, wire::frame_kind::end, now);
            lane.ended = true;
            if (lane.plain) // an encrypted one is released before what is before it has been written
                plain_tails_ = environment_.io->keys->curve() ? 2 : 1;
        }
        for (; lane.plain && plain_tails_ > 0 && lane.flow->in_flight() == 0; --plain_tails_)
            send_plain_tail();
        // An inlet answers the end by giving up its token; of plain subscribers we see only what libzmq released.
        if (!lane.plain || plain_tails_ > 0 || lane.flow->in_flight() > 0)
            done = false;
    });
    return done;
}

void zmq_outlet_link::close(time_point deadline) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        closing_ = true;
    }
    signal_->detach(); // before forget(): a release under way must not post us again
    if (environment_.log)
        environment_.log->remove_waiter(*this);
    environment_.io->io.forget(*this);
    deliver_events();
    poll_set wait;
    for (;;) {
        const time_point now = clock::now();
        signal_->drain();
        if (finish_up(now) || now >= deadline)
            break;
        wait.clear();
        wait.add(socket_fd_, POLLIN);
        wait.add(watch_fd_, POLLIN);
        wait.add(signal_->fd(), POLLIN);
        wait.at(std::min(deadline, now + std::chrono::milliseconds(100)));
        wait.wait(now);
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [token, lane] : lanes_) { // who did not take everything in time
            gone_.dropped += lane->waiting();
            drop_lane(*lane);
        }
        closed_ = true;
        count_ = 0;
        lanes_.clear();
        plain_lane_.reset();
        watch_.stop_listening(socket_);
        watch_.stop(socket_);
        socket_.close();
        guard_.reset();
    }
    deliver_events();
}

void zmq_outlet_link::begin_segment() {
    if (environment_.log)
        return environment_.io->io.post(*this); // who has all there is is told then, the others when they get there
    const std::lock_guard lock(mutex_);
    if (closing_)
        return;
    sync_next_ = 0;
    for_each_lane([&](consumer_lane& lane) {
        lane.segment = environment_.segments->current();
        if (!lane.kicked && !lane.plain)
            greet(lane, 0, clock::now());
    });
    send_plain_info(clock::now());
}

// --- the I/O thread's turns -----------------------------------------------------------------------------------------

void zmq_outlet_link::on_ready(int, std::uint32_t) { on_turn(clock::now()); }

void zmq_outlet_link::on_turn(time_point now) {
    {
        const std::lock_guard lock(mutex_);
        watch_.drain();
        read_subscriptions(now);
        if (pump(now, 4))
            environment_.io->io.post(*this);
        rest(now);
        tell_refusals();
    }
    environment_.drains->changed(); // who left, or was shut down, is not waited for any more
    deliver_events();
}

/// The producer has more, and all have got what there was: called by push. An unhurried producer sends it itself, which
/// saves the hop over the I/O thread; a busy one leaves it to that thread, which then finds many samples at once.
void zmq_outlet_link::wake() noexcept {
    const time_point now = clock::now();
    const bool unhurried = now - last_wake_ >= std::chrono::microseconds(50);
    last_wake_ = now;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!unhurried || !lock.try_lock())
        return environment_.io->io.post(*this);
    const bool more = pump(now, 1);
    // Sending may have taken joins off libzmq's hands without its descriptor saying so any more.
    const bool news = (socket_.get_int(ZMQ_EVENTS) & ZMQ_POLLIN) != 0;
    lock.unlock();
    if (more || news)
        environment_.io->io.post(*this);
}

/// What has to be done by time, and when to look again.
void zmq_outlet_link::rest(time_point now) {
    forget_dead_plain_peers();
    if (now >= plain_info_due_)
        send_plain_info(now);
    if (environment_.log)
        kick_stalled_plain(now);
    send_keep_alives(now);
    time_point next = plain_info_due_;
    if (!lanes_.empty() || plain_lane_)
        next = std::min(next, now + environment_.io->settings.tuning.keepalive / 2);
    if (plain_stalled_since_ != time_point::max())
        next = std::min(next, now + std::chrono::milliseconds(50));
    environment_.io->io.schedule(*this, next);
}

void zmq_outlet_link::send_keep_alives(time_point now) {
    const auto silence = environment_.io->settings.tuning.keepalive;
    for_each_lane([&](consumer_lane& lane) {
        if (!lane.kicked && now - lane.last_sent >= silence && lane.caught_up() && lane.flow->in_flight() == 0)
            send_status(lane, wire::frame_kind::keep_alive, now);
    });
}

/// Who was refused before he was a consumer. The log limits repeats.
void zmq_outlet_link::tell_refusals() {
    const std::uint64_t refused = watch_.refused();
    if (refused == refusals_told_)
        return;
    refusals_told_ = refused;
    environment_.io->log->log(watch_.refusal_certain() ? platform::log_level::warn : platform::log_level::info,
                              "connection_refused", {{"endpoint", endpoint_}, {"refused", refused}},
                              "refused a connection: " + std::string(watch_.last_refusal()));
}

void zmq_outlet_link::tell(consumer_event::kind what, const consumer_lane& lane) {
    events_.push_back({what, lane.id, lane.name, lane.address, endpoint_, next_sequence()});
}

void zmq_outlet_link::deliver_events() {
    std::vector<consumer_event> events;
    {
        const std::lock_guard lock(mutex_);
        events.swap(events_);
    }
    for (const consumer_event& event : events)
        environment_.on_consumer(event);
}

// --- statistics -----------------------------------------------------------------------------------------------------

bool zmq_outlet_link::drained() const {
    const std::lock_guard lock(mutex_);
    const auto done = [](const consumer_lane& lane) {
        return lane.kicked || (lane.caught_up() && lane.flow->in_flight() == 0);
    };
    return std::ranges::all_of(lanes_, [&](const auto& entry) { return done(*entry.second); }) &&
           (!plain_lane_ || done(*plain_lane_));
}

void zmq_outlet_link::add_stats(outlet_stats& stats) const {
    const std::lock_guard lock(mutex_);
    stats.sent += gone_.sent;
    stats.dropped += gone_.dropped;
    stats.kicked += gone_.kicked;
    stats.ignored += gone_.ignored;
    stats.refused += watch_.refused();
    stats.consumers += gone_.consumers + lanes_.size();
    for (const auto& [token, lane] : lanes_) {
        stats.current.push_back({lane->id, lane->name, lane->address, endpoint_, lane->sent(), lane->dropped(),
                                 lane->reader ? lane->reader->lag() : 0});
        stats.sent += lane->sent();
        stats.dropped += lane->dropped();
    }
}

} // namespace rivulet::transport::zmq
