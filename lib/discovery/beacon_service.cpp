#include "discovery/beacon_service.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <sys/epoll.h>
#include <unistd.h>

namespace rivulet::discovery {

using platform::clock;
using platform::time_point;
using namespace std::chrono_literals;

namespace {

constexpr auto quiet = 300ms;              ///< nobody new for so long: all have been heard
constexpr auto interface_pause = 20ms;     ///< changes come in bursts
constexpr auto interface_interval = 5s;    ///< where the kernel does not tell of changes
constexpr auto peer_interval = 30s;        ///< names are looked up again, and ...
constexpr auto missing_peer_interval = 2s; ///< ... sooner while one has no address
constexpr auto close_after = 5s;           ///< without anything to do, so that nobody's beacons wake this process
constexpr std::size_t datagrams_a_turn = 64;
constexpr std::size_t buffer_bytes = 2048; ///< more than any datagram of ours

node_options options_for(const config& settings, const security::secret_bytes* session_key,
                         std::function<bool(std::string_view)> acceptable) {
    node_options out;
    if (session_key)
        out.session_key = *session_key;
    out.acceptable = std::move(acceptable);
    out.session = settings.session.name;
    out.key = lab_key(settings.session.name, settings.discovery.group, settings.discovery.group6);
    out.id = make_participant_id();
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0)
        out.host = host.data();
    out.beacon_interval = settings.discovery.beacon_interval;
    std::memcpy(&out.seed, out.id.data(), sizeof out.seed);
    return out;
}

} // namespace

beacon_service::beacon_service(const config& settings, std::shared_ptr<platform::logger> log, platform::reactor& io,
                               const security::secret_bytes* session_key,
                               std::function<bool(std::string_view)> acceptable)
    : settings_(settings), log_(std::move(log)), io_(io), sockets_(settings_, *log_),
      node_(options_for(settings_, session_key, std::move(acceptable)), sockets_),
      peers_(settings_.discovery.known_peers, settings_.discovery.port, log_) {}

beacon_service::~beacon_service() {
    if (!fork_.in_child())
        io_.forget(*this);
}

// --- what others want -----------------------------------------------------------------------------------------------

void beacon_service::advertise(const advert& a) {
    if (!enabled())
        return;
    std::size_t left_out = 0;
    {
        const std::lock_guard lock(mutex_);
        left_out = node_.advertise(a, clock::now());
    }
    if (left_out != 0)
        log_->warn("discovery_advert", {{"stream", a.info.name}, {"left_out", left_out}},
                   "the stream's advert is too long for a datagram: not all of its endpoints are advertised; use a "
                   "shorter name, type or source id, or fewer endpoints");
    io_.post(*this);
}

void beacon_service::withdraw(const std::string& uid) {
    if (!enabled() || fork_.in_child())
        return;
    const std::lock_guard lock(mutex_);
    node_.withdraw(uid);
    if (sockets_.is_open()) // else nobody has heard of it
        node_.announce(clock::now());
    io_.post(*this);
}

node_counters beacon_service::counters() const {
    const std::lock_guard lock(mutex_);
    return node_.counters();
}

void beacon_service::add(stream_listener& listener) {
    if (!enabled())
        throw error(errc::not_supported, "discovery is off: set [discovery] enabled = true, or name an endpoint");
    {
        const std::lock_guard lock(mutex_);
        listeners_.push_back({&listener});
        const time_point now = clock::now();
        node_.set_interest(true, now);
        node_.search(now);
    }
    io_.post(*this);
}

void beacon_service::remove(stream_listener& listener) noexcept {
    if (fork_.in_child())
        return;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(listeners_, [&](const entry& e) { return e.listener == &listener; });
        if (listeners_.empty())
            node_.set_interest(false, clock::now());
    }
    io_.post(*this);
    const std::lock_guard until_called(delivery_);
}

// --- the I/O thread -------------------------------------------------------------------------------------------------

void beacon_service::open_locked(time_point now) {
    sockets_.open();
    for (const int fd : sockets_.descriptors())
        io_.watch(fd, EPOLLIN, *this);
    if (sockets_.changes_fd() < 0)
        look_at_interfaces_ = now + interface_interval;
    if (peers_.has_peers()) {
        io_.watch(peers_.fd(), EPOLLIN, *this);
        look_up_peers_ = now;
    }
}

void beacon_service::close_locked() noexcept {
    for (const int fd : sockets_.descriptors())
        io_.unwatch(fd);
    if (peers_.has_peers())
        io_.unwatch(peers_.fd());
    sockets_.close();
    look_at_interfaces_ = look_up_peers_ = close_at_ = time_point::max();
}

void beacon_service::on_ready(int fd, std::uint32_t) {
    const time_point now = clock::now();
    {
        const std::lock_guard lock(mutex_);
        if (fd == sockets_.changes_fd()) {
            sockets_.drain_changes();
            look_at_interfaces_ = std::min(look_at_interfaces_, now + interface_pause);
        } else if (fd == peers_.fd()) {
            bool all_found = true;
            node_.set_peers(peers_.take(all_found), now);
            look_up_peers_ = now + (all_found ? std::chrono::seconds(peer_interval) : missing_peer_interval);
        } else {
            receive_locked(fd, now);
        }
        node_.on_turn(now);
        reschedule_locked();
    }
    deliver(now);
}

void beacon_service::receive_locked(int fd, time_point now) {
    std::array<std::byte, buffer_bytes> buffer;
    for (std::size_t i = 0; i < datagrams_a_turn; ++i) {
        reception how;
        const std::size_t size = sockets_.receive(fd, buffer, how);
        if (size == 0)
            return;
        const std::uint64_t before = node_.counters().unauthenticated;
        node_.on_datagram(std::span(buffer).first(size), how, now);
        if (node_.counters().unauthenticated != before)
            log_->warn("beacon_refused", {{"from", how.from.host_text()}},
                       "a beacon or question was not made with this lab's session key, and is not believed; set "
                       "[security] session_key there too, or another [session] name");
    }
}

void beacon_service::on_turn(time_point now) {
    {
        const std::lock_guard lock(mutex_);
        if (!sockets_.is_open()) {
            if (!needed_locked())
                return;
            open_locked(now);
        }
        if (needed_locked()) {
            close_at_ = time_point::max();
        } else if (now >= close_at_) {
            close_locked();
            return;
        } else {
            close_at_ = std::min(close_at_, now + close_after);
        }
        if (now >= look_at_interfaces_)
            look_at_interfaces_locked(now);
        if (now >= look_up_peers_)
            look_at_peers_locked(now);
        node_.on_turn(now);
        reschedule_locked();
    }
    deliver(now);
}

void beacon_service::look_at_interfaces_locked(time_point now) {
    look_at_interfaces_ = sockets_.changes_fd() < 0 ? now + interface_interval : time_point::max();
    if (sockets_.refresh())
        node_.network_changed(now);
}

void beacon_service::look_at_peers_locked(time_point now) {
    look_up_peers_ = now + peer_interval; // sooner or later, when it is done
    peers_.start();
}

void beacon_service::reschedule_locked() {
    time_point next = std::min({node_.next_turn(), look_at_interfaces_, look_up_peers_, close_at_});
    if (std::ranges::any_of(listeners_, [](const entry& e) { return !e.settled; }))
        next = std::min(next, node_.settles_at(quiet));
    io_.schedule(*this, next);
}

bool beacon_service::still_listens(const stream_listener* listener) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(listeners_, listener, &entry::listener) != listeners_.end();
}

void beacon_service::deliver(time_point now) {
    const std::lock_guard one_at_a_time(delivery_);
    std::vector<stream_event> events;
    std::vector<stream_event> present; // for those who have come since the last time
    std::vector<entry> listeners;
    std::vector<stream_listener*> settled;
    std::vector<source_conflict> conflicts;
    std::vector<std::string> unusable;
    {
        const std::lock_guard lock(mutex_);
        events = node_.take_events();
        conflicts = node_.take_conflicts();
        unusable = node_.take_unusable();
        listeners = listeners_;
        if (std::ranges::any_of(listeners_, &entry::fresh))
            for (found_stream& stream : node_.registry().streams())
                present.push_back({stream_event::kind::appeared, std::move(stream)});
        for (entry& e : listeners_) {
            e.fresh = false;
            if (!e.settled && now >= node_.settles_at(quiet)) {
                e.settled = true;
                settled.push_back(e.listener);
            }
        }
    }
    for (const std::string& name : unusable)
        log_->warn("plain_stream", {{"stream", name}},
                   "the stream is not encrypted, and is passed over: this program has [security] secret_key set, or "
                   "required = true");
    for (const source_conflict& c : conflicts)
        log_->warn(
            "duplicate_source", {{"source_id", c.source_id}, {"streams", c.streams}},
            "two outlets have the same source id: inlets that lose one cannot tell which to go on with; give each "
            "source an id of its own");
    for (const entry& e : listeners)
        for (const stream_event& event : e.fresh ? present : events) {
            if (!still_listens(e.listener))
                break;
            e.listener->on_stream(event);
        }
    for (stream_listener* listener : settled)
        if (still_listens(listener))
            listener->on_settled();
}

} // namespace rivulet::discovery
