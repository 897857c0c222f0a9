#include "transport/inproc/hub.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <algorithm>
#include <cstring>

namespace rivulet::transport::inproc {

hub::hub(std::string endpoint, const outlet_environment& environment)
    : endpoint_(std::move(endpoint)), environment_(environment) {
    if (!room_)
        throw error(errc::system, "endpoint " + endpoint_ + ": cannot make an eventfd: " + std::strerror(errno));
}

consumer_event hub::event(consumer_event::kind what, const attachment& inlet) const {
    return {what, wire::to_string(inlet.id), inlet.environment.name, {}, endpoint_, next_sequence()};
}

start_point hub::start(const wire::hello* hello) const {
    if (environment_.log)
        return start_of(environment_, hello);
    return {environment_.segments->current(), 0};
}

std::uint64_t hub::next_sequence() const { return environment_.log ? start(nullptr).sequence() : sync_next_; }

void hub::greet(const attachment& inlet, const start_point& begin) const {
    const std::uint64_t next = environment_.log ? begin.sequence() : sync_next_;
    inlet.environment.sink->on_greeting(describe_stream(environment_, *begin.segment, next, true), next,
                                        inlet.reader.get());
}

bool hub::attach(const std::shared_ptr<attachment>& inlet) {
    consumer_event joined;
    {
        const std::lock_guard lock(mutex_);
        if (closed_ || inlets_.size() >= environment_.max_consumers)
            return false;
        wire::hello hello;
        if (const auto history = inlet->environment.start.history; history.count() > 0)
            hello.history_ns = history == forever ? UINT64_MAX : static_cast<std::uint64_t>(history.count());
        const start_point begin = start(&hello);
        if (environment_.log)
            inlet->reader =
                std::make_unique<samples::log_reader>(environment_.log, begin.position, inlet->environment.holds, true);
        inlet->joined_at = begin.position;
        inlets_.push_back(inlet);
        greet(*inlet, begin);
        joined = event(consumer_event::kind::joined, *inlet);
    }
    environment_.on_consumer(joined);
    return true;
}

void hub::detach(const std::shared_ptr<attachment>& inlet) {
    consumer_event left;
    {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(inlets_, inlet);
        if (found == inlets_.end())
            return;
        retire(*inlet);
        inlets_.erase(found);
        if (closed_)
            return;
        left = event(consumer_event::kind::left, *inlet);
    }
    room_made(); // a push may be waiting for this one
    environment_.drains->changed();
    environment_.on_consumer(left);
}

void hub::room_made() noexcept { room_.set(); }

std::size_t hub::size() const {
    const std::lock_guard lock(mutex_);
    return closed_ ? 0 : inlets_.size();
}

/// An inlet has what it has pulled: until then it lies in the outlet's log, out of which it may still fall.
bool hub::drained() const {
    const std::lock_guard lock(mutex_);
    const auto all_read = [this] {
        return std::ranges::none_of(inlets_,
                                    [](const auto& i) { return i->pending || (i->reader && i->reader->lag() > 0); });
    };
    if (all_read() || !environment_.log)
        return all_read();
    environment_.log->announce_read(environment_.log->head());
    return all_read();
}

consumer_stats hub::stats_of(const attachment& inlet) const {
    consumer_stats s{wire::to_string(inlet.id), inlet.environment.name, {}, endpoint_, inlet.sent, 0, 0};
    if (inlet.reader) {
        s.dropped = inlet.reader->dropped();
        s.sent = inlet.reader->position() - inlet.joined_at - inlet.reader->total_lost();
        s.lag = inlet.reader->lag();
    }
    return s;
}

void hub::add_stats(outlet_stats& stats) const {
    const std::lock_guard lock(mutex_);
    stats.sent += gone_.sent;
    stats.dropped += gone_.dropped;
    stats.kicked += gone_.kicked;
    stats.consumers += gone_.consumers + inlets_.size();
    for (const auto& inlet : inlets_) {
        stats.current.push_back(stats_of(*inlet));
        stats.sent += stats.current.back().sent;
        stats.dropped += stats.current.back().dropped;
    }
}

void hub::retire(const attachment& inlet) {
    const consumer_stats s = stats_of(inlet);
    gone_.sent += s.sent;
    gone_.dropped += s.dropped;
    ++gone_.consumers;
}

// --- sync -----------------------------------------------------------------------------------------------------------

bool hub::deliver(attachment& inlet) {
    if (!inlet.environment.sink->ready_for_data())
        return false;
    inlet.environment.sink->on_data(frame_, frame_bytes_);
    inlet.sent += frame_.count;
    inlet.pending = false;
    return true;
}

void hub::begin_send(const sync_frame& frame, time_point deadline) {
    const std::lock_guard lock(mutex_);
    frame_ = {frame.header.first_sequence, frame.header.count, std::as_bytes(frame.header.column), frame.header.runs,
              frame.payload};
    if (!frame.prefix.empty()) {
        joined_.assign(frame.prefix.begin(), frame.prefix.end());
        joined_.insert(joined_.end(), frame.payload.begin(), frame.payload.end());
        frame_.payload = joined_;
    }
    frame_bytes_ = frame.head.head.size() + frame.head.column.size() + frame.head.tail.size() + frame_.payload.size();
    sync_next_ = frame.header.first_sequence + frame.header.count;
    for (const auto& inlet : inlets_) {
        inlet->pending = true;
        inlet->deadline = deadline;
        deliver(*inlet);
    }
}

bool hub::progress(time_point now, poll_set& wait) {
    room_.clear(); // before looking, or a wake-up is lost
    std::unique_lock lock(mutex_);
    bool done = true;
    bool late = false;
    for (const auto& inlet : inlets_) {
        if (!inlet->pending || deliver(*inlet))
            continue;
        done = false;
        late |= now >= inlet->deadline;
        wait.at(inlet->deadline);
    }
    lock.unlock();
    if (late) {
        drop_pending(false, now);
        return progress(now, wait);
    }
    if (!done)
        wait.add(room_.get(), POLLIN);
    return done;
}

/// Disconnects those that have not taken the frame: all, or only those past their deadline.
void hub::drop_pending(bool all, time_point now) {
    std::vector<consumer_event> events;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(inlets_, [&](const auto& inlet) {
            if (!inlet->pending || (!all && now < inlet->deadline))
                return false;
            inlet->pending = false;
            ++gone_.kicked;
            retire(*inlet);
            events.push_back(event(consumer_event::kind::kicked, *inlet));
            inlet->environment.sink->on_disconnect(false);
            return true;
        });
    }
    for (const consumer_event& e : events)
        environment_.on_consumer(e);
}

void hub::abort_send() { drop_pending(true, time_point::max()); }

void hub::begin_segment() {
    const std::lock_guard lock(mutex_);
    sync_next_ = 0;
    const start_point begin = start(nullptr);
    for (const auto& inlet : inlets_)
        greet(*inlet, begin);
}

void hub::close() {
    const std::lock_guard lock(mutex_);
    if (closed_)
        return;
    closed_ = true;
    if (environment_.log)
        return; // the log itself says that it ended
    for (const auto& inlet : inlets_)
        inlet->environment.sink->on_status({wire::frame_kind::end, sync_next_, local_clock()});
}

// --- directory ------------------------------------------------------------------------------------------------------

directory& directory::instance() {
    static auto* const names = new directory();
    return *names;
}

void directory::add(const std::shared_ptr<hub>& h) {
    std::list<waiting> due;
    {
        const std::lock_guard lock(mutex_);
        if (!hubs_.emplace(h->endpoint(), h).second)
            throw error(errc::address_in_use,
                        "endpoint " + h->endpoint() + ": another outlet of this process has that name; choose another");
        for (auto it = waiting_.begin(); it != waiting_.end();) {
            const auto next = std::next(it);
            if (it->name == h->endpoint()) {
                *it->slot = h;
                due.splice(due.end(), waiting_, it);
            }
            it = next;
        }
        for (const waiting& w : due)
            h->attach(w.inlet); // under the lock: stop_waiting() must not return in between
    }
}

void directory::remove(const std::shared_ptr<hub>& h) {
    const std::lock_guard lock(mutex_);
    if (const auto found = hubs_.find(h->endpoint()); found != hubs_.end() && found->second == h)
        hubs_.erase(found);
}

void directory::connect(const std::string& name, const std::shared_ptr<attachment>& inlet, std::weak_ptr<hub>* slot) {
    const std::lock_guard lock(mutex_);
    if (const auto found = hubs_.find(name); found != hubs_.end()) {
        *slot = found->second;
        if (found->second->attach(inlet))
            return;
    }
    waiting_.push_back({name, inlet, slot});
}

void directory::stop_waiting(const std::shared_ptr<attachment>& inlet) {
    const std::lock_guard lock(mutex_);
    waiting_.remove_if([&](const waiting& w) { return w.inlet == inlet; });
}

} // namespace rivulet::transport::inproc
