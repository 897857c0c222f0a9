#include "core/inlet_impl.hpp"

#include "core/convert.hpp"
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

constexpr auto clock_patience = 2s; ///< for the first measurement of an outlet's clock, where stamps are corrected
constexpr auto lease = 20ms;        ///< a puller that has not come back for so long lets the I/O thread receive

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
    if (!greeted_.load(std::memory_order_acquire))
        throw error(errc::not_connected,
                    fmt::format("{}: no outlet answered within {:.3g} s; check that one listens there, or wait longer",
                                title(), std::chrono::duration<double>(timeout).count()));
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
        if (pump_here(now_time))
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
    last_driven_ns_.store(ns_of(clock::now()), std::memory_order_relaxed);
    driving_.store(false, std::memory_order_seq_cst);
    ctx_->io.schedule_earlier(*this, clock::now() + lease);
}

/// Pumps once on this thread, unless another is at it; true when there may be more.
bool inlet_impl::pump_here(time_point now_time) {
    const std::unique_lock lock(pump_mutex_, std::try_to_lock);
    return lock && pump_locked(now_time);
}

/// The I/O thread watches the descriptor again when no pull has come for a while. On the I/O thread.
void inlet_impl::take_back_fd(time_point now_time) {
    if (link_fd_ < 0 || fd_with_io_.load(std::memory_order_seq_cst) || driving_.load(std::memory_order_seq_cst))
        return;
    const time_point driven = time_of(last_driven_ns_);
    if (now_time < driven + lease && !use_wait_fd_.load())
        return ctx_->io.schedule_earlier(*this, driven + lease);
    ctx_->io.watch(link_fd_, EPOLLIN, *this);
    fd_with_io_.store(true, std::memory_order_seq_cst);
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

// --- pulling --------------------------------------------------------------------------------------------------------

void inlet_impl::check_usable() const {
    if (closed_.load(std::memory_order_acquire)) [[unlikely]]
        throw error(errc::closed, title() + ": it was closed; open a new inlet to go on");
    if (fork_.in_child()) [[unlikely]]
        throw error(errc::closed, title() + ": it belongs to the parent process; open inlets after fork");
    if (failed_.load(std::memory_order_acquire)) [[unlikely]] {
        const std::lock_guard lock(info_mutex_);
        throw stream_lost(failure_);
    }
}

/// Brings offset_ up to date for what lies at `position`.
void inlet_impl::apply_marks(std::uint64_t position) {
    while (marks_->next() <= position) {
        const core::sequence_mark mark = marks_->take();
        if (mark.new_segment) {
            const std::uint64_t reached = mark.position + offset_;
            if (!first_segment_ && reached > next_sequence_)
                lost_.fetch_add(reached - next_sequence_, std::memory_order_relaxed); // dropped here, before the switch
            new_segment_ = !first_segment_;
            first_segment_ = false;
            next_sequence_ = mark.sequence;
            stream_pulled_.store(service_.streams(), std::memory_order_release);
        }
        offset_ = mark.sequence - mark.position;
    }
}

/// What lies at the cursor, if anything.
bool inlet_impl::look(std::uint32_t max, next_chunk& out) {
    if (full_ == when_full::latest && reader_->lag() > 1)
        reader_->skip_to(log_->head() - 1);
    out.span = reader_->peek(max);
    if (!out.span)
        return false;
    out.result = {};
    apply_marks(out.span.position);
    out.result.new_segment = new_segment_;
    if (const std::uint64_t left = marks_->next() - out.span.position; left < out.span.count)
        out.span.count = static_cast<std::uint32_t>(left);
    out.result.samples = out.span.count;
    out.result.first_sequence = out.span.position + offset_;
    out.result.lost_before = out.result.first_sequence - next_sequence_;
    out.result.status = pull_status::data;
    return true;
}

void inlet_impl::prepare_stamps() {
    if (!stamp_options_.dejitter && !stamp_options_.monotonize && !stamp_options_.clocksync)
        return;
    processor_.emplace(stamp_options_, log_->options().rate_hz);
    if (stamp_options_.clocksync && !service_.time_correction(clock_patience))
        ctx_->log->warn("no_clock", {{"stream", info().name}, {"endpoint", endpoint()}},
                        "the outlet's clock could not be measured yet; its stamps come as they are until it is");
}

double inlet_impl::to_local(double stamp) {
    if (stamp_options_.clocksync)
        return stamp;
    const std::lock_guard lock(offset_mutex_);
    const std::uint64_t stream = stream_pulled_.load(std::memory_order_acquire);
    if (closed_.load() || fork_.in_child() || stream != service_.streams())
        return stamp + offset_s_;
    if (std::exchange(offset_of_, stream) != stream) {
        const auto measured = service_.time_correction(1s);
        offset_s_ = measured ? measured->offset_s : 0;
    } else if (const auto known = service_.clock_now()) {
        offset_s_ = known->estimate.offset_s;
    }
    return stamp + offset_s_;
}

void inlet_impl::look_at_clock(bool new_segment) {
    if (stream_pulled_.load(std::memory_order_relaxed) != service_.streams())
        return;
    if (new_segment)
        (void)service_.time_correction(clock_patience);
    auto known = service_.clock_now();
    if (!known || (known->version == clock_known_.version && known->of == clock_known_.of))
        return;
    processor_->update(known->estimate, clock_known_.of != nullptr && known->of != clock_known_.of);
    clock_known_ = std::move(*known);
}

void inlet_impl::process_stamps(const pull_result& result, std::span<double> stamps) {
    if (!processor_)
        return;
    if (stamp_options_.clocksync)
        look_at_clock(result.new_segment);
    processor_->apply(result.first_sequence, result.new_segment, stamps);
}

void inlet_impl::take(const next_chunk& chunk, std::uint32_t count) noexcept {
    reader_->advance(count);
    new_segment_ = false;
    next_sequence_ = chunk.result.first_sequence + count;
    pulled_.fetch_add(count, std::memory_order_relaxed);
    if (chunk.result.lost_before)
        lost_.fetch_add(chunk.result.lost_before, std::memory_order_relaxed);
}

/// After the last sample: the result that says so.
std::optional<pull_result> inlet_impl::at_end() {
    if (!log_->finished() || reader_->lag() > 0)
        return std::nullopt;
    apply_marks(reader_->position());
    const std::uint64_t final = buffer_ ? buffer_->final_sequence() : log_->head() + offset_;
    pull_result ended{.samples = 0,
                      .first_sequence = final,
                      .lost_before = 0,
                      .new_segment = new_segment_,
                      .status = pull_status::ended};
    if (!end_reported_) {
        end_reported_ = true;
        new_segment_ = false;
        ended.lost_before = final > next_sequence_ ? final - next_sequence_ : 0;
        lost_.fetch_add(ended.lost_before, std::memory_order_relaxed);
        next_sequence_ = final;
    }
    return ended;
}

inlet_impl::next_chunk inlet_impl::wait_for_chunk(std::uint32_t max, std::chrono::nanoseconds timeout) {
    next_chunk chunk;
    if (closed_.load(std::memory_order_acquire) || fork_.in_child()) [[unlikely]]
        check_usable();
    if (look(max, chunk))
        return chunk;
    const time_point deadline = timeout.count() <= 0 ? time_point::min() : deadline_after(clock::now(), timeout);
    for (;;) {
        if (const auto ended = at_end()) {
            chunk.result = *ended;
            return chunk;
        }
        check_usable(); // failed: only once all that came is pulled
        if (deadline == time_point::min() || clock::now() >= deadline) {
            if (link_fd_ >= 0 && !fd_with_io_.load()) {
                pump_here(clock::now());
                if (look(max, chunk))
                    return chunk;
            }
            if (use_wait_fd_.load(std::memory_order_relaxed))
                rearm_fd();
            return chunk;
        }
        sleep_until(deadline);
        if (look(max, chunk))
            return chunk;
    }
}

std::size_t inlet_impl::wait_for_samples(std::size_t max_samples, std::chrono::nanoseconds timeout) {
    const bool told = end_reported_;
    const auto chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    if (!told && chunk.result.status == pull_status::ended) { // is for the pull that follows to tell
        end_reported_ = false;
        new_segment_ = chunk.result.new_segment;
        next_sequence_ -= chunk.result.lost_before;
        lost_.fetch_sub(chunk.result.lost_before, std::memory_order_relaxed);
    }
    return chunk.span.count;
}

bool inlet_impl::pull_ready() { return reader_->lag() > 0 || log_->finished() || closed_.load() || failed_.load(); }

pull_result inlet_impl::pull_values(void* values, channel_format element, std::size_t count, std::span<double> stamps,
                                    std::chrono::nanoseconds timeout) {
    if (!is_fixed_size(format_)) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: its samples are {}; pull into std::string", title(), to_string(format_)));
    const std::size_t room = count / channels_;
    if (room * channels_ != count || (!stamps.empty() && stamps.size() < room)) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: room for {} values and {} stamps does not fit samples of {} channels", title(),
                                count, stamps.size(), channels_));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::min<std::size_t>(room ? room : 1, UINT32_MAX)), timeout);
    if (!chunk.span || room == 0)
        return room == 0 && chunk.span ? pull_result{} : chunk.result;
    core::convert_values(values, element, chunk.span.samples(), format_, chunk.span.count * channels_);
    if (!stamps.empty()) {
        std::memcpy(stamps.data(), chunk.span.stamps(), chunk.span.count * sizeof(double));
        process_stamps(chunk.result, stamps.first(chunk.span.count));
    }
    take(chunk, chunk.span.count);
    return chunk.result;
}

pull_result inlet_impl::pull_text(std::vector<std::string>& values, std::vector<double>& stamps,
                                  std::chrono::nanoseconds timeout, std::size_t max_samples) {
    if (is_fixed_size(format_)) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: its samples are {}; pull into a numeric type", title(), to_string(format_)));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    values.resize(chunk.span.count * channels_);
    stamps.resize(chunk.span.count);
    if (!chunk.span)
        return chunk.result;
    const auto ends = chunk.span.offsets();
    const auto text = chunk.span.text();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i].assign(reinterpret_cast<const char*>(text.data()) + (ends[i] - ends[0]), ends[i + 1] - ends[i]);
    std::memcpy(stamps.data(), chunk.span.stamps(), chunk.span.count * sizeof(double));
    process_stamps(chunk.result, stamps);
    take(chunk, chunk.span.count);
    return chunk.result;
}

chunk_view inlet_impl::pull_view(std::chrono::nanoseconds timeout, std::size_t max_samples) {
    if (!is_fixed_size(format_)) [[unlikely]]
        throw error(errc::not_supported, fmt::format("{}: its samples are {}, which cannot be viewed in place; use "
                                                     "pull_chunk",
                                                     title(), to_string(format_)));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    chunk_view view;
    view.result_ = chunk.result;
    view.format_ = format_;
    if (!chunk.span)
        return view;
    view.state_ = std::make_unique<view_state>();
    view.state_->segment = reader_->share_segment();
    view.data_ = chunk.span.samples();
    view.count_ = chunk.span.count * channels_;
    view.stamps_ = {chunk.span.stamps(), chunk.span.count};
    if (processor_) {
        view.state_->stamps.assign(view.stamps_.begin(), view.stamps_.end());
        process_stamps(chunk.result, view.state_->stamps);
        view.stamps_ = view.state_->stamps;
    }
    take(chunk, chunk.span.count);
    return view;
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
