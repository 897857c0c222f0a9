#include "transport/posix/posix_outlet_link.hpp"

#include "transport/io_context.hpp"
#include "transport/posix/socket.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>

namespace rivulet::transport::posix {
namespace {

using platform::clock;

constexpr std::size_t max_silent_peers = 256;            ///< connections that never said hello
constexpr std::size_t max_incoming_bytes = 64 << 10;     ///< more than that from a consumer is garbage
constexpr auto plain_patience = std::chrono::seconds(2); ///< async: a peer without a hello may stall that long

} // namespace

std::unique_ptr<outlet_link> listen(const transport::endpoint& where, const outlet_environment& environment) {
    return std::make_unique<posix_outlet_link>(where, environment);
}

posix_outlet_link::posix_outlet_link(const transport::endpoint& where, const outlet_environment& environment)
    : environment_(environment), where_(where), listener_(*environment.io) {
    guard_ = guard_path(where_);
    transport::endpoint actual = listener_.listen(where_);
    if (actual.kind == transport::endpoint::family::tcp && actual.wildcard_host())
        actual.host = "127.0.0.1";
    endpoint_ = actual.to_string();
    if (environment_.log)
        environment_.log->add_waiter(*this);
    environment_.io->io.watch(listener_.fd(), EPOLLIN, *this);
}

posix_outlet_link::~posix_outlet_link() { close(time_point::min()); }

std::uint64_t posix_outlet_link::next_sequence() const {
    return environment_.log ? start(nullptr).sequence() : sync_next_;
}

// --- connections ----------------------------------------------------------------------------------------------------

void posix_outlet_link::admit(platform::unique_fd fd, time_point now) {
    if (peers_.size() >= environment_.max_consumers + max_silent_peers || silent_ >= max_silent_peers) {
        // The oldest silent one makes room: a real consumer must get in.
        const auto oldest = std::ranges::find_if(peers_, [](const auto& e) { return !e.second->counted; });
        if (oldest == peers_.end()) {
            ++gone_.ignored;
            return;
        }
        oldest->second->broken = true;
        drop_broken(now);
    }
    configure(fd.get(), where_, environment_.io->settings);
    auto p = std::make_unique<peer>();
    p->fd = std::move(fd);
    p->address = peer_name(p->fd.get());
    const start_point begin = start(nullptr);
    p->segment = begin.segment;
    p->joined_at = begin.position;
    if (environment_.log)
        p->reader = std::make_unique<samples::log_reader>(environment_.log, p->joined_at, false);
    peer& added = *p;
    const int key = p->fd.get();
    peers_[key] = std::move(p);
    ++silent_;
    environment_.io->io.watch(key, EPOLLIN, *this);
    send_info(added, environment_.log ? begin.sequence() : sync_next_, now);
    if (!added.broken)
        read_from(added, now);
}

/// Whatever a consumer has to say is its hello; after that only its end is of interest.
void posix_outlet_link::read_from(peer& p, time_point now) {
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const ssize_t n = ::recv(p.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n > 0) {
            p.heard += static_cast<std::size_t>(n);
            if (p.counted)
                continue;
            p.incoming.insert(p.incoming.end(), buffer.begin(), buffer.begin() + n);
            if (!parse_hello(p, now) || p.heard > max_incoming_bytes) {
                ++gone_.ignored;
                p.broken = true;
                return;
            }
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        p.broken = true;
        return;
    }
}

/// A hello: its length, 4 bytes, then the bytes of FORMAT.md. False: that is none.
bool posix_outlet_link::parse_hello(peer& p, time_point now) {
    constexpr std::size_t length_bytes = 4;
    if (p.incoming.size() < length_bytes)
        return true;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        bytes = bytes << 8 | std::to_integer<std::size_t>(p.incoming[i]);
    if (bytes > wire::max_hello_bytes || bytes < wire::token_bytes)
        return false;
    if (p.incoming.size() < length_bytes + bytes)
        return true;
    if (wire::decode_hello(wire::bytes_view(p.incoming).subspan(length_bytes, bytes), p.hello) !=
        wire::frame_error::none)
        return false;
    if (closing_ || count_.load() >= environment_.max_consumers)
        return false; // the next outlet here will serve it
    p.incoming.clear();
    p.incoming.shrink_to_fit();
    p.id = wire::to_string(p.hello.tok);
    p.name = p.hello.name;
    p.wants_greeting = true;
    if (p.out.empty())
        greet(p, now);
    return true;
}

start_point posix_outlet_link::start(const wire::hello* hello) const {
    if (environment_.log)
        return start_of(environment_, hello);
    return {environment_.segments->current(), 0};
}

/// From here on the peer is a consumer: counted, and with exactly the samples that its greeting names.
void posix_outlet_link::greet(peer& p, time_point now) {
    p.wants_greeting = false;
    p.counted = true;
    --silent_;
    const start_point begin = start(&p.hello);
    p.segment = begin.segment;
    p.segment_due = false;
    p.joined_at = begin.position;
    p.sent_sync = 0;
    if (environment_.log)
        p.reader = std::make_unique<samples::log_reader>(environment_.log, p.joined_at, environment_.wait_for_slow);
    count_.fetch_add(1, std::memory_order_release);
    send_info(p, environment_.log ? begin.sequence() : sync_next_, now);
    tell(consumer_event::kind::joined, p);
}

void posix_outlet_link::send_info(peer& p, std::uint64_t next, time_point now) {
    const std::vector<std::byte> frame = wire::encode_info(describe_stream(environment_, *p.segment, next, false));
    const std::array<wire::bytes_view, 1> pieces{frame};
    wrote(p, p.out.send(p.fd.get(), pieces, pieces.size()), now);
}

void posix_outlet_link::drop_broken(time_point) {
    for (auto it = peers_.begin(); it != peers_.end();) {
        peer& p = *it->second;
        if (!p.broken) {
            ++it;
            continue;
        }
        environment_.io->io.unwatch(p.fd.get());
        if (p.counted) {
            gone_.sent += p.sent();
            gone_.dropped += p.dropped();
            ++gone_.consumers;
            gone_.kicked += p.kicked ? 1 : 0;
            count_.fetch_sub(1, std::memory_order_release);
            tell(p.kicked ? consumer_event::kind::kicked : consumer_event::kind::left, p);
        } else {
            --silent_;
        }
        it = peers_.erase(it);
    }
}

// --- turns ----------------------------------------------------------------------------------------------------------

void posix_outlet_link::on_ready(int fd, std::uint32_t events) {
    const time_point now = clock::now();
    bool drained = false;
    {
        const std::lock_guard lock(mutex_);
        if (closing_)
            return;
        if (fd == listener_.fd()) {
            listener_.accept_all(now, endpoint_, [&](platform::unique_fd peer) { admit(std::move(peer), now); });
        } else if (const auto found = peers_.find(fd); found != peers_.end()) {
            peer& p = *found->second;
            if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_from(p, now);
            if (!p.broken && (events & EPOLLOUT))
                resume(p, now);
        }
        if (pump(now, 4))
            environment_.io->io.post(*this);
        drop_broken(now);
        rest(now);
        drained = drain_is_news();
    }
    if (drained)
        environment_.drains->changed();
    deliver_events();
}

void posix_outlet_link::on_turn(time_point now) {
    bool drained = false;
    {
        const std::lock_guard lock(mutex_);
        if (closing_)
            return;
        listener_.resume(now);
        if (pump(now, 4))
            environment_.io->io.post(*this);
        drop_broken(now);
        rest(now);
        drained = drain_is_news();
    }
    if (drained)
        environment_.drains->changed();
    deliver_events();
}

/// The producer has more, and all have got what there was: an unhurried one sends it itself (see zmq_outlet_link).
void posix_outlet_link::wake() noexcept {
    const time_point now = clock::now();
    const bool unhurried = now - last_wake_ >= std::chrono::microseconds(50);
    last_wake_ = now;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!unhurried || !lock.try_lock())
        return environment_.io->io.post(*this);
    const bool more = pump(now, 1);
    const bool broken = std::ranges::any_of(peers_, [](const auto& e) { return e.second->broken; });
    const bool drained = drain_is_news();
    lock.unlock();
    if (drained)
        environment_.drains->changed();
    if (more || broken)
        environment_.io->io.post(*this);
}

/// What has to be done by time, and when to look again.
void posix_outlet_link::rest(time_point now) {
    const auto silence = environment_.io->settings.tuning.keepalive;
    time_point next = listener_.again_at();
    bool broke = false;
    for (const auto& [fd, p] : peers_) {
        if (p->wants_greeting && p->out.empty() && !p->broken)
            greet(*p, now);
        if (!environment_.log && !p->broken && !p->in_push)
            ready_for_push(*p, now);
        if (p->caught_up() && !p->in_push && now - p->last_sent >= silence)
            send_status(*p, wire::frame_kind::keep_alive, now);
        // A peer without a hello is no consumer: it may not pin memory for long.
        if (!p->counted && !p->in_push && p->stalled_since != time_point::max()) {
            if (now - p->stalled_since >= plain_patience)
                p->broken = true;
            else
                next = std::min(next, p->stalled_since + plain_patience);
        }
        broke |= p->broken;
    }
    if (broke)
        drop_broken(now);
    if (!peers_.empty())
        next = std::min(next, now + silence / 2);
    environment_.io->io.schedule(*this, next);
}

void posix_outlet_link::tell(consumer_event::kind what, const peer& p) {
    events_.push_back({what, p.id, p.name, p.address, endpoint_, next_sequence()});
}

void posix_outlet_link::deliver_events() {
    std::vector<consumer_event> events;
    {
        const std::lock_guard lock(mutex_);
        events.swap(events_);
    }
    for (const consumer_event& event : events)
        environment_.on_consumer(event);
}

void posix_outlet_link::begin_segment() {
    if (environment_.log)
        return environment_.io->io.post(*this); // who has all there is is told then, the others when they get there
    const std::lock_guard lock(mutex_);
    sync_next_ = 0;
    for (const auto& [fd, p] : peers_) {
        p->segment = environment_.segments->current();
        p->segment_due = true;
        if (!p->broken && !closing_)
            ready_for_push(*p, clock::now());
    }
}

// --- closing --------------------------------------------------------------------------------------------------------

/// Sends what is left and the end, then waits for the peers to close; true when all have.
bool posix_outlet_link::finish_up(time_point now) {
    const std::lock_guard lock(mutex_);
    for (const auto& [fd, p] : peers_)
        resume(*p, now);
    pump(now, SIZE_MAX); // last: whoever has not got all has a frame under way now, and is waited for
    for (const auto& [fd, p] : peers_) {
        if (!p->broken)
            read_from(*p, now); // closing with unread input would reset the connection and lose what is on its way
        if (p->broken || p->half_closed)
            continue;
        if (!p->caught_up())
            continue;
        if (!p->ended) {
            send_status(*p, wire::frame_kind::end, now);
            p->ended = true;
        }
        if (p->out.empty()) {
            ::shutdown(p->fd.get(), SHUT_WR);
            p->half_closed = true;
        }
    }
    drop_broken(now);
    return peers_.empty();
}

void posix_outlet_link::close(time_point deadline) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        closing_ = true;
    }
    if (environment_.log)
        environment_.log->remove_waiter(*this);
    environment_.io->io.forget(*this);
    deliver_events();
    listener_.close();
    poll_set wait;
    for (;;) {
        const time_point now = clock::now();
        if (finish_up(now) || now >= deadline)
            break;
        wait.clear();
        for (const auto& [fd, p] : peers_)
            wait.add(fd, static_cast<short>(POLLIN | (p->out.empty() ? 0 : POLLOUT)));
        wait.at(std::min(deadline, now + std::chrono::milliseconds(100)));
        wait.wait(now);
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [fd, p] : peers_) { // who did not take everything in time
            gone_.dropped += p->counted ? p->waiting() : 0;
            p->broken = true;
        }
        drop_broken(clock::now());
        closed_ = true;
        count_ = 0;
        guard_.reset();
    }
    deliver_events();
}

// --- statistics -----------------------------------------------------------------------------------------------------

bool posix_outlet_link::drained() const {
    const std::lock_guard lock(mutex_);
    return drained_locked();
}

bool posix_outlet_link::drained_locked() const {
    return std::ranges::all_of(peers_, [](const auto& e) { return e.second->broken || e.second->caught_up(); });
}

void posix_outlet_link::add_stats(outlet_stats& stats) const {
    const std::lock_guard lock(mutex_);
    stats.sent += gone_.sent;
    stats.dropped += gone_.dropped;
    stats.kicked += gone_.kicked;
    stats.ignored += gone_.ignored;
    stats.consumers += gone_.consumers;
    for (const auto& [fd, p] : peers_) {
        if (!p->counted)
            continue;
        ++stats.consumers;
        stats.current.push_back(
            {p->id, p->name, p->address, endpoint_, p->sent(), p->dropped(), p->reader ? p->reader->lag() : 0});
        stats.sent += p->sent();
        stats.dropped += p->dropped();
    }
}

} // namespace rivulet::transport::posix
