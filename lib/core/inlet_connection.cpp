#include "core/inlet_impl.hpp"

#include "core/limits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <utility>

/// An inlet's connection: what its link delivers, and what becomes of it when it is lost.
namespace rivulet::detail {

using platform::clock;
using platform::deadline_after;
using platform::time_point;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t frames_per_pump = 16; ///< of up to 1 MiB each: others wait meanwhile

/// One outlet, in two of its segments perhaps: the uid is another, all else is not.
bool same_outlet(const stream_info& a, const stream_info& b) {
    return a.created_at == b.created_at && a.host == b.host && a.name == b.name && a.source_id == b.source_id &&
           a.format == b.format && a.channel_count == b.channel_count && a.nominal_rate_hz == b.nominal_rate_hz;
}

} // namespace

// --- what the link delivers ----------------------------------------------------------------------------------------

transport::greeting_answer inlet_impl::judge(const wire::info_frame& greeting) {
    using transport::greeting_answer;
    const stream_info& came = greeting.info;
    const std::lock_guard info_lock(info_mutex_);
    // Another relay's, or the original: the same samples under the same numbers.
    const bool same_stream = came.lineage() == info_.lineage() && came.format == info_.format &&
                             came.channel_count == info_.channel_count && came.nominal_rate_hz == info_.nominal_rate_hz;
    if (same_stream || same_outlet(came, info_))
        return greeting_answer::go_on;
    if (info_.source_id.empty()) {
        failure_ = fmt::format("{}: another outlet answers there now, and the stream had no source id that would tell "
                               "whether it is the same source; give its outlet a source_id",
                               title());
    } else if (came.source_id != info_.source_id) {
        if (!std::exchange(stranger_told_, true))
            ctx_->log->warn("stranger",
                            {{"stream", info_.name}, {"endpoint", endpoint()}, {"source_id", came.source_id}},
                            "another source answers there; still looking for the lost one");
        return greeting_answer::try_again;
    } else if (came.format != info_.format || came.channel_count != info_.channel_count ||
               came.nominal_rate_hz != info_.nominal_rate_hz) {
        failure_ = fmt::format("{}: the stream came back as {} x {} at {} Hz instead of {} x {} at {} Hz; open a new "
                               "inlet",
                               title(), came.channel_count, to_string(came.format), came.nominal_rate_hz,
                               info_.channel_count, to_string(info_.format), info_.nominal_rate_hz);
    } else {
        return greeting_answer::go_on;
    }
    failed_.store(true, std::memory_order_release);
    return greeting_answer::close;
}

transport::greeting_answer inlet_impl::on_greeting(const wire::info_frame& greeting, std::uint64_t next_sequence,
                                                   samples::log_reader* shared) {
    const std::lock_guard lock(buffer_mutex_);
    const bool first = !greeted_.load(std::memory_order_relaxed);
    last_heard_ns_.store(ns_of(clock::now()), std::memory_order_relaxed);
    if (!first)
        if (const auto answer = judge(greeting); answer != transport::greeting_answer::go_on) {
            if (answer == transport::greeting_answer::close)
                wake();
            return answer;
        }
    bool new_uid = first;
    bool reconnected = true;
    {
        const std::lock_guard info_lock(info_mutex_);
        new_uid = first || greeting.info.lineage() != info_.lineage();
        reconnected = !new_uid || !same_outlet(greeting.info, info_) || !connected_.load(std::memory_order_acquire);
        info_ = greeting.info;
    }
    if (reconnected)
        greetings_.fetch_add(1, std::memory_order_relaxed);
    connected_.store(true, std::memory_order_release);
    stranger_told_ = false;
    service_.stream_is(greeting.info.uid, greeting.service);
    order_ = greeting.order;
    if (first)
        reader_ = shared;
    if (!shared) {
        if (!buffer_) {
            samples::log_options kept = core::log_options_for(greeting.info, max_buffered_, ctx_->settings);
            kept.history = false;
            buffer_ = std::make_unique<core::inlet_buffer>(kept, full_);
            buffer_->log()->on_room([this] { ctx_->io.post(*this); });
            // Before the first sample comes: a log without a reader drops what it has no room for.
            own_reader_ = std::make_unique<samples::log_reader>(buffer_->log(), 0, full_ == when_full::hold);
            reader_ = own_reader_.get();
        }
        if (new_uid)
            buffer_->start_segment(next_sequence);
    } else if (new_uid) {
        // A new segment of the outlet begins where its log ends: it holds pushes up meanwhile.
        shared_marks_.add({first ? shared->position() : shared->log().head(), next_sequence, true});
    }
    if (!first && reconnected)
        ctx_->log->info("stream_recovered",
                        {{"stream", greeting.info.name}, {"endpoint", endpoint()}, {"uid", greeting.info.uid}},
                        new_uid ? "another outlet of the same source: a new segment begins" : "connected again");
    greeted_.store(true, std::memory_order_release);
    wakeup_.set();
    return transport::greeting_answer::go_on;
}

transport::resume_point inlet_impl::where_to_resume() {
    const wire::token id = wire::make_token();
    service_.consumer_is(wire::to_string(id));
    const std::lock_guard lock(buffer_mutex_);
    if (!buffer_)
        return {id, {}, 0};
    const std::lock_guard info_lock(info_mutex_);
    return {id, info_.lineage(), buffer_->expected()};
}

bool inlet_impl::ready_for_data() {
    const std::lock_guard lock(buffer_mutex_);
    return !buffer_ || buffer_->ready();
}

void inlet_impl::on_data(const wire::data_view& frame, std::size_t wire_bytes) {
    const std::lock_guard lock(buffer_mutex_);
    last_heard_ns_.store(ns_of(clock::now()), std::memory_order_relaxed);
    frames_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(wire_bytes, std::memory_order_relaxed);
    if (!buffer_ || !buffer_->append(frame, order_))
        ignored_.fetch_add(1, std::memory_order_relaxed);
}

bool inlet_impl::on_data_begun(const wire::data_view& begun, std::size_t payload_bytes, std::size_t wire_bytes) {
    const std::lock_guard lock(buffer_mutex_);
    if (!buffer_ || !buffer_->begin(begun, payload_bytes, order_))
        return false;
    frames_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(wire_bytes, std::memory_order_relaxed);
    return true;
}

std::span<std::byte> inlet_impl::payload_room() {
    const std::lock_guard lock(buffer_mutex_);
    return buffer_->payload_room();
}

void inlet_impl::on_payload(std::size_t bytes) {
    const std::lock_guard lock(buffer_mutex_);
    last_heard_ns_.store(ns_of(clock::now()), std::memory_order_relaxed);
    buffer_->payload_received(bytes);
}

void inlet_impl::on_status(const wire::status_frame& frame) {
    const std::lock_guard lock(buffer_mutex_);
    last_heard_ns_.store(ns_of(clock::now()), std::memory_order_relaxed);
    if (frame.kind != wire::frame_kind::end || !buffer_)
        return;
    ended_.store(true, std::memory_order_release); // first: what is not connected and has not ended is lost
    connected_.store(false, std::memory_order_release);
    buffer_->end(frame.next_sequence);
}

void inlet_impl::on_ignored() { ignored_.fetch_add(1, std::memory_order_relaxed); }

std::chrono::nanoseconds inlet_impl::recover_for() const {
    if (recover_for_)
        return *recover_for_;
    const std::lock_guard lock(info_mutex_);
    return info_.source_id.empty() ? lost_after_ : forever;
}

void inlet_impl::on_disconnect(bool returns) {
    if (!connected_.load(std::memory_order_acquire))
        return;
    const time_point now = clock::now();
    lost_since_ns_.store(ns_of(now), std::memory_order_relaxed); // first: whoever sees it lost asks since when
    connected_.store(false, std::memory_order_release);
    if (!returns || recover_for().count() <= 0)
        return fail(fmt::format("{}: the connection to the outlet ended, and the stream did not; the outlet crashed, "
                                "disconnected this inlet, or was disconnected from it",
                                title()));
    last_heard_ns_.store(ns_of(now), std::memory_order_relaxed);
    ctx_->log->warn("connection_lost", {{"stream", info().name}, {"endpoint", endpoint()}},
                    "the connection to the outlet ended; trying to get it back");
    ctx_->io.post(*this); // which looks after the connection from now on
}

void inlet_impl::fail(std::string message) {
    {
        const std::lock_guard lock(info_mutex_);
        if (failed_.load())
            return;
        failure_ = std::move(message);
        failed_.store(true, std::memory_order_release);
        ctx_->log->warn("stream_lost", {{"stream", info_.name}, {"endpoint", endpoint()}}, failure_);
    }
    connected_.store(false, std::memory_order_release);
    wake();
    if (link_fd_ >= 0)
        link_->interrupt(); // here it stays what it is: on the I/O thread, or with the pump lock held
}

bool inlet_impl::pump_locked(time_point now) {
    ready_for_data(); // what is held goes first, also when the link has nothing more
    const bool more = link_->pump(now, frames_per_pump);
    next_turn_ns_.store(ns_of(link_->next_turn()), std::memory_order_relaxed);
    return more;
}

/// Waits in the link's receive with the pump lock held: only while connected, and whoever wants the lock then has to
/// interrupt the link. True when something came.
bool inlet_impl::pump_asleep(time_point now, time_point until) {
    const std::unique_lock lock(pump_mutex_, std::try_to_lock);
    if (!lock || !connected_.load(std::memory_order_acquire) || !ready_for_data())
        return false;
    if (pull_ready())
        return true;
    const bool came = link_->pump_asleep(now, until, frames_per_pump);
    next_turn_ns_.store(ns_of(link_->next_turn()), std::memory_order_relaxed);
    return came;
}

void inlet_impl::pump_from_io_thread(time_point now) {
    {
        const std::unique_lock lock(pump_mutex_, std::try_to_lock);
        if (!lock) // the pulling thread is at it
            return;
        if (pump_locked(now))
            ctx_->io.post(*this);
    }
    if (const time_point next = next_turn(); next != time_point::max())
        ctx_->io.schedule_earlier(*this, next);
}

void inlet_impl::on_ready(int, std::uint32_t) { pump_from_io_thread(clock::now()); }

/// Posted (more to read, or room again), or due: the watchdog, or the descriptor that a puller left.
void inlet_impl::on_turn(time_point now) {
    if (closed_.load(std::memory_order_acquire))
        return;
    take_back_fd(now);
    pump_from_io_thread(now);
    if (failed_.load(std::memory_order_acquire))
        search_.reset();
    if (link_fd_ >= 0 && opened_.load(std::memory_order_acquire) && !ended_.load(std::memory_order_acquire) &&
        !failed_.load(std::memory_order_acquire))
        look_after_connection(now);
}

// --- when it is lost ------------------------------------------------------------------------------------------------

/// Silence for lost_after: the outlet, or the network, is gone, whatever the connection says; begin a new one.
void inlet_impl::look_after_connection(time_point now) {
    const std::chrono::nanoseconds patience = recover_for();
    time_point due = deadline_after(time_of(last_heard_ns_), lost_after_);
    if (now >= due && ready_for_data()) {
        if (connected_.load(std::memory_order_acquire) && patience.count() <= 0)
            return fail(fmt::format("{}: nothing was heard from the outlet for {:.3g} s; it is gone, or the network is",
                                    title(), std::chrono::duration<double>(lost_after_).count()));
        const std::unique_lock lock(pump_mutex_, std::try_to_lock);
        if (!lock) { // the pulling thread sleeps in the link, or hears something at last
            link_->interrupt();
            return ctx_->io.schedule_earlier(*this, now + 10ms);
        }
        if (ended_.load(std::memory_order_acquire)) // meanwhile, told to the pulling thread
            return;
        link_->reconnect(now);
        on_disconnect(true); // where the link did not say so: it had no greeting yet
        last_heard_ns_.store(ns_of(now), std::memory_order_relaxed);
        ctx_->io.post(*this);
        due = deadline_after(now, lost_after_);
    }
    if (is_lost()) {
        const time_point give_up = deadline_after(time_of(lost_since_ns_), patience);
        look_for_successor(now);
        if (search_)
            due = std::min(due, search_->look_again_at());
        if (now >= give_up)
            return fail(fmt::format("{}: the outlet was lost and did not come back within {:.3g} s", title(),
                                    std::chrono::duration<double>(patience).count()));
        due = std::min(due, give_up);
    } else {
        search_.reset();
    }
    ctx_->io.schedule_earlier(*this, std::max(due, now + 100ms));
}

/// The endpoint may be the wrong one by now: asks the network where the stream is.
void inlet_impl::look_for_successor(time_point now) {
    if (!search_) {
        const stream_info lost = info();
        if (lost.source_id.empty() || !ctx_->discovery.enabled())
            return;
        search_ = std::make_unique<core::successor_search>(ctx_->discovery, lost, [this] { ctx_->io.post(*this); });
        return;
    }
    const auto candidate = search_->next(now);
    if (!candidate || *candidate == endpoint())
        return;
    try {
        switch_to(*candidate);
    } catch (const error& e) {
        ctx_->log->debug("endpoint_unusable", {{"stream", info().name}, {"endpoint", *candidate}}, e.what());
    }
}

void inlet_impl::switch_to(const std::string& where) {
    auto fresh = transport::open_inlet_link(where, environment_);
    if (fresh->fd() < 0)
        return;
    {
        const std::lock_guard lock(pump_mutex_);
        const bool driving = driving_.load(std::memory_order_seq_cst);
        if (!driving)
            retired_.clear();
        if (fd_with_io_.exchange(false, std::memory_order_seq_cst))
            ctx_->io.unwatch(link_fd_);
        link_->close();
        retired_.push_back(std::move(link_));
        link_ = std::move(fresh);
        link_fd_ = link_->fd();
        if (!driving) {
            ctx_->io.watch(link_fd_, EPOLLIN, *this);
            fd_with_io_.store(true, std::memory_order_seq_cst);
        }
        endpoints_.push_back(where);
        endpoint_.store(&endpoints_.back(), std::memory_order_release);
        service_.endpoint_is(where);
    }
    drive_fd_.set(); // whoever drives polls the new descriptor from now on
    ctx_->io.post(*this);
}

} // namespace rivulet::detail
