#include "core/inlet_impl.hpp"

#include "core/identity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <utility>

namespace rivulet::detail {

using platform::clock;
using platform::deadline_after;
using platform::time_point;
using namespace std::chrono_literals;

namespace {

constexpr auto lease = 20ms;       ///< a puller that has not come back for so long lets the I/O thread receive
constexpr auto lease_check = 40ms; ///< looked at so often, while there are pulls: each look wakes a thread

std::string name_of(const inlet_options& options) {
    return options.name.empty() ? core::process_name() : options.name.substr(0, 64);
}

} // namespace

inlet_impl::inlet_impl(std::string_view endpoint, inlet_options options)
    : ctx_(usable(options.ctx)), endpoints_{std::string(endpoint)}, endpoint_(&endpoints_.front()), full_(options.full),
      max_buffered_(options.max_buffered), lost_after_(options.lost_after.value_or(ctx_->settings.tuning.watchdog)),
      recover_for_(options.recover_for), busy_poll_(options.busy_poll), stamp_options_(options.stamps),
      service_(ctx_, endpoints_.front(), name_of(options)) {
    if (!wait_fd_ || !drive_fd_)
        throw error(errc::system, std::string("inlet: cannot make an eventfd: ") + std::strerror(errno));
    environment_.io = ctx_;
    environment_.name = name_of(options);
    environment_.start = options.start;
    environment_.holds = full_ == when_full::hold;
    environment_.max_frame = options.max_frame.value_or(ctx_->settings.tuning.max_frame);
    environment_.sink = this;
    link_ = transport::open_inlet_link(endpoint, environment_);
    link_fd_ = link_->fd();
    try {
        if (link_fd_ >= 0) {
            fd_with_io_ = true;
            ctx_->io.watch(link_fd_, EPOLLIN, *this);
            ctx_->io.post(*this);
        }
        wait_for_greeting(options.open_timeout);
        prepare_stamps();
    } catch (...) {
        close();
        throw;
    }
}

inlet_impl::~inlet_impl() { close(); }

std::string inlet_impl::title() const { return "inlet of " + endpoint(); }

void inlet_impl::wait_for_greeting(std::chrono::nanoseconds timeout) {
    const time_point deadline = deadline_after(clock::now(), timeout);
    while (!greeted_.load(std::memory_order_acquire) && !failed_.load(std::memory_order_acquire))
        if (!wakeup_.wait(deadline))
            break;
    if (failed_.load(std::memory_order_acquire))
        check_usable();
    if (!greeted_.load(std::memory_order_acquire)) {
        const std::string trouble = link_->trouble();
        throw error(errc::not_connected,
                    fmt::format("{}: no outlet answered within {:.3g} s; {}", title(),
                                std::chrono::duration<double>(timeout).count(),
                                trouble.empty() ? "check that one listens there, or wait longer" : trouble));
    }
    {
        const std::lock_guard lock(buffer_mutex_);
        shared_ = own_reader_ == nullptr;
        marks_ = shared_ ? &shared_marks_ : &buffer_->marks();
        log_ = reader_->shared_log();
    }
    next_sequence_ = reader_->position();
    channels_ = log_->options().channels;
    format_ = log_->options().format;
    service_.look_up();
    stream_pulled_.store(service_.streams(), std::memory_order_release);
    log_->add_waiter(*this);
    opened_.store(true, std::memory_order_release);
    if (link_fd_ >= 0)
        ctx_->io.schedule(*this, deadline_after(clock::now(), lost_after_));
}

void inlet_impl::close() {
    closed_.store(true, std::memory_order_release);
    wakeup_.set();
    drive_fd_.set();
    wait_fd_.set();
    service_.close(); // without the lock: a callback under way may close, too
    const std::lock_guard once(close_mutex_);
    {
        const std::lock_guard lock(buffer_mutex_);
        if (buffer_)
            buffer_->log()->on_room({});
    }
    ctx_->io.forget(*this); // from here on link_ and search_ stay what they are
    link_->interrupt();
    search_.reset();
    ctx_->io.forget(*this); // what the search may have posted meanwhile
    if (log_)
        log_->remove_waiter(*this);
    {
        const std::lock_guard lock(pump_mutex_);
        link_->close();
    }
}

// --- waiting --------------------------------------------------------------------------------------------------------

void inlet_impl::wake() noexcept {
    wakeup_.set();
    if (driving_.load(std::memory_order_seq_cst))
        drive_fd_.set();
    if (use_wait_fd_.load(std::memory_order_seq_cst))
        wait_fd_.set();
}

void inlet_impl::sleep_until(time_point deadline) {
    if (busy_poll_.count() > 0) {
        const time_point until = std::min(deadline, deadline_after(clock::now(), busy_poll_));
        while (!pull_ready()) {
            const time_point now_time = clock::now();
            if (now_time >= until)
                break;
            if (link_fd_ >= 0)
                pump_here(now_time);
        }
        if (pull_ready())
            return;
    }
    if (link_fd_ >= 0 && !use_wait_fd_.load(std::memory_order_relaxed))
        return drive(deadline);
    if (log_->arm(*this, reader_->position()))
        wakeup_.wait(deadline);
    log_->disarm(*this);
}

/// Watches the link's descriptor on this thread, in place of the I/O thread, until there is something to pull.
void inlet_impl::drive(time_point deadline) {
    driving_.store(true, std::memory_order_seq_cst);
    if (fd_with_io_.load(std::memory_order_seq_cst)) {
        const std::lock_guard lock(pump_mutex_); // link_ stays what it is
        if (fd_with_io_.exchange(false, std::memory_order_seq_cst))
            ctx_->io.unwatch(link_fd_);
    }
    transport::poll_set& wait = drive_wait_;
    while (!pull_ready()) {
        const time_point now_time = clock::now();
        if (now_time >= deadline)
            break;
        if (pump_asleep(now_time, deadline) || pump_here(now_time))
            continue;
        // Others may append as well: the I/O thread on its turns, and close() and fail() must wake us.
        if (!log_->arm(*this, reader_->position()))
            break;
        wait.clear();
        if (!closed_.load() && !failed_.load()) {
            wait.add(link_fd_, POLLIN);
            wait.add(drive_fd_.get(), POLLIN);
            wait.at(std::min(deadline, next_turn()));
            wait.wait(now_time);
            if (wait.fds.back().revents != 0)
                drive_fd_.clear();
        }
        log_->disarm(*this);
    }
    const time_point driven = clock::now();
    last_driven_ns_.store(ns_of(driven), std::memory_order_relaxed);
    driving_.store(false, std::memory_order_seq_cst);
    if (!lease_watched_.load(std::memory_order_seq_cst))
        watch_lease(driven);
}

/// Pumps once on this thread, unless another is at it; true when there may be more.
bool inlet_impl::pump_here(time_point now_time) {
    const std::unique_lock lock(pump_mutex_, std::try_to_lock);
    return lock && pump_locked(now_time);
}

/// The I/O thread watches the descriptor again when no pull has come for a while. On the I/O thread.
void inlet_impl::take_back_fd(time_point now_time) {
    if (link_fd_ < 0)
        return;
    const time_point driven = time_of(last_driven_ns_);
    const bool pulls_come = std::exchange(lease_seen_, driven) != driven;
    if (!fd_with_io_.load(std::memory_order_seq_cst)) {
        const bool driving = driving_.load(std::memory_order_seq_cst);
        if (driving ? pulls_come : now_time < driven + lease && !use_wait_fd_.load())
            return ctx_->io.schedule_earlier(*this, now_time + lease_check);
        if (!driving) {
            ctx_->io.watch(link_fd_, EPOLLIN, *this);
            fd_with_io_.store(true, std::memory_order_seq_cst);
        }
    }
    // The end of the pull that is under way, or of the next, asks for another look.
    lease_watched_.store(false, std::memory_order_seq_cst);
    if (!fd_with_io_.load(std::memory_order_seq_cst) && !driving_.load(std::memory_order_seq_cst))
        watch_lease(now_time); // it came and went meanwhile
}

void inlet_impl::watch_lease(time_point now_time) {
    if (!lease_watched_.exchange(true, std::memory_order_seq_cst))
        ctx_->io.schedule_earlier(*this, now_time + lease_check);
}

int inlet_impl::wait_fd() {
    check_usable();
    if (!use_wait_fd_.exchange(true, std::memory_order_seq_cst)) {
        ctx_->io.post(*this); // the I/O thread receives from now on
        rearm_fd();
    }
    return wait_fd_.get();
}

/// After a pull found nothing: readable again with the next sample.
void inlet_impl::rearm_fd() {
    wait_fd_.clear();
    if (!log_->arm(*this, reader_->position()) || closed_.load() || failed_.load())
        wait_fd_.set();
}

// --- the rest -------------------------------------------------------------------------------------------------------

stream_info inlet_impl::info() const {
    const std::lock_guard lock(info_mutex_);
    return info_;
}

std::size_t inlet_impl::samples_available() {
    check_usable();
    if (link_fd_ >= 0 && !fd_with_io_.load())
        pump_here(clock::now());
    return reader_->lag();
}

std::uint64_t inlet_impl::next_sequence() {
    check_usable();
    apply_marks(reader_->position());
    return next_sequence_;
}

std::size_t inlet_impl::flush() {
    samples_available(); // reads what the socket has
    const std::uint64_t head = log_->head();
    const std::uint64_t before = reader_->position();
    reader_->skip_to(head);
    apply_marks(head);
    if (processor_)
        processor_->forget();
    next_sequence_ = head + offset_;
    return head - before;
}

inlet_stats inlet_impl::stats() const {
    inlet_stats s;
    if (fork_.in_child())
        return s;
    s.pulled = pulled_.load(std::memory_order_relaxed);
    s.lost = lost_.load(std::memory_order_relaxed);
    s.buffered = reader_->lag();
    s.samples = buffer_ ? buffer_->received() : s.pulled + s.buffered;
    s.frames = frames_.load(std::memory_order_relaxed);
    s.bytes = bytes_.load(std::memory_order_relaxed);
    s.reconnects = greetings_.load(std::memory_order_relaxed) - 1;
    s.ignored = ignored_.load(std::memory_order_relaxed);
    s.connected = connected_.load(std::memory_order_acquire) && !log_->finished();
    return s;
}

} // namespace rivulet::detail
