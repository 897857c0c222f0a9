#include "core/outlet_impl.hpp"

#include "core/convert.hpp"
#include "core/identity.hpp"
#include "core/limits.hpp"
#include "platform/wait.hpp"
#include "transport/endpoint_choice.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace rivulet::detail {

using platform::clock;
using platform::deadline_after;
using platform::time_point;

outlet_impl::outlet_impl(stream_info info, outlet_options options)
    : ctx_(usable(options.ctx)), info_(std::move(info)),
      send_timeout_(options.send_timeout.value_or(ctx_->settings.effective_send_timeout())),
      linger_(options.linger.value_or(ctx_->settings.tuning.linger)),
      max_frame_(options.max_frame.value_or(ctx_->settings.tuning.max_frame)) {
    validate(info_);
    channels_ = static_cast<std::size_t>(info_.channel_count);
    sample_bytes_ = info_.sample_bytes();
    core::check_max_frame(max_frame_, info_);
    if (options.endpoints.empty())
        throw error(errc::invalid_argument, title() + ": no endpoint given; name at least one to listen on");
    if (options.mode == delivery::sync && info_.format == channel_format::string)
        throw error(errc::not_supported,
                    title() + ": sync delivery sends from the caller's memory and takes fixed-size formats and blobs "
                              "only, not strings; use delivery::async");
    if (options.mode == delivery::sync && options.first_sequence != 0)
        throw error(errc::not_supported, title() + ": first_sequence is for delivery::async");
    if (!stop_fd_)
        throw error(errc::system, title() + ": cannot make an eventfd: " + std::strerror(errno));
    core::fill_identity(info_, ctx_->settings);

    if (options.mode == delivery::async) {
        log_ = std::make_shared<samples::sample_log>(core::log_options_for(info_, options.buffer, ctx_->settings));
        if (options.full == on_full::wait)
            policy_ = samples::sample_log::overflow::refuse;
    }
    environment_.io = ctx_;
    environment_.info = &info_;
    environment_.segments = std::make_shared<transport::stream_segments>(info_, options.first_sequence);
    environment_.log = log_;
    environment_.drains = std::make_shared<transport::drain_watch>();
    if (log_)
        log_->on_read([drains = environment_.drains] { drains->changed(); });
    environment_.wait_for_slow = options.full == on_full::wait;
    environment_.send_timeout = send_timeout_;
    environment_.max_frame = max_frame_;
    environment_.max_consumers = options.max_consumers.value_or(ctx_->settings.tuning.max_consumers);
    service_ = std::make_unique<core::outlet_service>(ctx_, options.endpoints, info_.name);
    environment_.service = service_->endpoints();
    environment_.on_consumer = [this](const consumer_event& event) { consumer_changed(event); };
    for (const std::string& endpoint : options.endpoints)
        links_.push_back(transport::open_outlet_link(endpoint, environment_));
    for (const auto& link : links_)
        endpoints_.push_back(link->endpoint());
    std::stable_partition(links_.begin(), links_.end(), [](const auto& link) { return link->sends_directly(); });
    service_->start(environment_, [this] { return stats(); });
    advertise(options.endpoints);
}

outlet_impl::~outlet_impl() { stop(); }

/// Makes the stream known, unless it has nothing but inproc endpoints.
void outlet_impl::advertise(const std::vector<std::string>& asked) {
    advert_.info = info_;
    advert_.info.desc = metadata("desc"); // is not sent
    advert_.service = service_->endpoints();
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        transport::add_advertised(asked[i], endpoints_[i], ctx_->settings.ports.advertise, advert_.endpoints);
    if (advert_.endpoints.empty())
        return;
    ctx_->discovery.advertise(advert_);
    if (info_.source_id.empty() && info_.origin.empty())
        ctx_->log->warn("no_source_id", {{"stream", info_.name}},
                        "the stream has no source id: when its outlet is restarted, inlets cannot know that it is the "
                        "same source, and their streams are lost; set stream_info::source_id");
}

std::string outlet_impl::title() const { return "outlet \"" + info_.name + '"'; }

// --- pushing --------------------------------------------------------------------------------------------------------

void outlet_impl::check_open() const {
    if (stopping_.load(std::memory_order_relaxed)) [[unlikely]]
        throw error(errc::closed, title() + ": it was stopped; make a new outlet to go on");
    if (fork_.in_child()) [[unlikely]]
        throw error(errc::closed, title() + ": it belongs to the parent process; make outlets after fork");
}

/// @return how many samples `count` values are.
std::size_t outlet_impl::check_shape(std::size_t count, std::size_t stamps) const {
    const std::size_t samples = channels_ == 1 ? count : count / channels_;
    if (samples * channels_ != count) [[unlikely]]
        throw error(errc::shape_mismatch, fmt::format("{}: got {} values, which is no multiple of its {} channels",
                                                      title(), count, channels_));
    if (stamps != 0 && stamps != samples) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: got {} stamps for {} samples; give one stamp a sample", title(), stamps, samples));
    return samples;
}

void outlet_impl::check_stamps(const push_stamps& stamps) const {
    const bool bad =
        std::isnan(stamps.last) || std::ranges::any_of(stamps.each, [](double s) { return std::isnan(s); });
    if (bad) [[unlikely]]
        throw error(errc::invalid_argument, title() + ": a stamp is NaN; give seconds on local_clock(), or now");
}

void outlet_impl::push_one(const void* values, channel_format element, std::size_t count, double stamp) {
    if (stamp == now)
        stamp = local_clock();
    // Not NaN, and nothing to convert.
    if (element == info_.format && count == channels_ && log_ && stamp > now && sample_bytes_ != 0) [[likely]] {
        check_open();
        const std::lock_guard lock(producer_);
        if (const auto room = log_->reserve(policy_); room.count != 0) [[likely]] {
            if (sample_bytes_ == sizeof(std::uint32_t))
                std::memcpy(room.samples, values, sizeof(std::uint32_t));
            else
                std::memcpy(room.samples, values, sample_bytes_);
            *room.stamps = stamp;
            log_->commit(1);
            return;
        }
    }
    if (count != channels_) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: one sample has {} values, got {}", title(), channels_, count));
    push_values(values, element, count, {{}, stamp});
}

void outlet_impl::push_values(const void* values, channel_format element, std::size_t count,
                              const push_stamps& stamps) {
    check_open();
    const std::size_t samples = check_shape(count, stamps.each.size());
    check_stamps(stamps);
    if (samples == 0)
        return;
    const bool blob = element == channel_format::blob;
    if (!is_fixed_size(info_.format) && !blob) [[unlikely]]
        throw error(errc::format_mismatch, fmt::format("{}: cannot push {} values, its format is {}", title(),
                                                       to_string(element), to_string(info_.format)));
    push_stamps resolved = stamps;
    if (resolved.last == now)
        resolved.last = local_clock();
    if (log_) {
        const std::lock_guard lock(producer_);
        append(values, element, samples, resolved);
        return;
    }
    if (element != info_.format) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: sync delivery sends from the caller's memory and cannot convert {} to {}; push {} "
                                "values or use delivery::async",
                                title(), to_string(element), to_string(info_.format), to_string(info_.format)));
    const std::lock_guard lock(producer_);
    send(static_cast<const std::byte*>(values), samples, info_.sample_bytes(), resolved);
}

void outlet_impl::append(const void* values, channel_format element, std::size_t samples, const push_stamps& stamps) {
    const auto* from = static_cast<const std::byte*>(values);
    const std::size_t from_bytes = value_bytes(element) * channels_;
    for (std::size_t done = 0; done < samples;) {
        const auto room = log_->reserve(policy_);
        if (room.count == 0) {
            wait_for_room();
            continue;
        }
        const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(room.count, samples - done));
        core::convert_values(room.samples, info_.format, from, element, n * channels_);
        from += n * from_bytes;
        if (!stamps.each.empty()) {
            std::memcpy(room.stamps, stamps.each.data() + done, n * sizeof(double));
            log_->commit(n);
        } else if (samples == 1) {
            *room.stamps = stamps.last;
            log_->commit(1);
        } else {
            const wire::stamp_run run{n, static_cast<std::uint32_t>(samples - done - 1), stamps.last};
            wire::expand_run(run, info_.nominal_rate_hz, room.stamps);
            log_->commit(n, &run);
        }
        done += n;
    }
}

void outlet_impl::push_text(std::span<const std::string_view> values, const push_stamps& stamps) {
    check_open();
    if (info_.format != channel_format::string && info_.format != channel_format::blob) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: cannot push text, its format is {}", title(), to_string(info_.format)));
    const std::size_t samples = check_shape(values.size(), stamps.each.size());
    check_stamps(stamps);
    for (std::size_t i = 0; i < samples; ++i) {
        std::size_t bytes = 0;
        for (std::size_t c = 0; c < channels_; ++c)
            bytes += values[i * channels_ + c].size() + sizeof(std::uint32_t);
        if (bytes > max_frame_)
            throw error(errc::limit_exceeded,
                        fmt::format("{}: a sample of {} bytes is beyond max_frame ({} bytes); raise [tuning] max_frame "
                                    "on both ends",
                                    title(), bytes, max_frame_));
    }
    if (samples == 0)
        return;
    push_stamps resolved = stamps;
    if (resolved.last == now)
        resolved.last = local_clock();
    const std::lock_guard lock(producer_);
    if (log_)
        return append_text(values, samples, resolved);
    for (std::size_t i = 0; i < samples; ++i) { // a blob a frame: its payload is two offsets and the caller's bytes
        const push_stamps one{{}, resolved.each.empty() ? resolved.last : resolved.each[i]};
        send(reinterpret_cast<const std::byte*>(values[i].data()), 1, values[i].size(), one);
    }
}

void outlet_impl::append_text(std::span<const std::string_view> values, std::size_t samples,
                              const push_stamps& stamps) {
    std::vector<double> deduced;
    wire::stamp_run all{static_cast<std::uint32_t>(samples), static_cast<std::uint32_t>(samples - 1), stamps.last};
    std::span<const double> each = stamps.each;
    if (each.empty()) {
        deduced.resize(samples);
        wire::expand_run(all, info_.nominal_rate_hz, deduced.data());
        each = deduced;
    }
    for (std::size_t done = 0; done < samples;) {
        const wire::stamp_run run{all.count, static_cast<std::uint32_t>(samples - done - 1), stamps.last};
        const std::uint32_t n = log_->append_text(values.subspan(done * channels_), each.data() + done, policy_,
                                                  stamps.each.empty() && samples > 1 ? &run : nullptr);
        if (n == 0)
            wait_for_room();
        done += n;
    }
}

/// The log is full of samples that somebody we wait for has not got yet.
void outlet_impl::wait_for_room() {
    if (!log_->wait_for_room(deadline_after(clock::now(), send_timeout_))) {
        check_open();
        const std::size_t released = log_->release_laggards();
        ctx_->log->warn("consumer_slow", {{"stream", info_.name}, {"consumers", released}},
                        "consumers took nothing for send_timeout: not waited for until they have caught up");
    }
}

// --- sync -----------------------------------------------------------------------------------------------------------

/// Cuts the values into frames of at most max_frame and sends each.
void outlet_impl::send(const std::byte* values, std::size_t samples, std::size_t sample_bytes,
                       const push_stamps& stamps) {
    const bool blob = info_.format == channel_format::blob;
    const std::size_t at_once =
        blob ? 1 : std::clamp<std::size_t>(max_frame_ / (sample_bytes + sizeof(double)), 1, samples);
    std::array<std::byte, wire::data_head_capacity(1)> buffer;
    for (std::size_t done = 0; done < samples;) {
        const std::size_t n = std::min(at_once, samples - done);
        const wire::stamp_run run{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(samples - done - 1),
                                  stamps.last};
        transport::sync_frame frame;
        frame.header.first_sequence = sequence_;
        frame.header.count = static_cast<std::uint32_t>(n);
        if (stamps.each.empty())
            frame.header.runs = {&run, 1};
        else
            frame.header.column = stamps.each.subspan(done, n);
        frame.payload = {values + done * sample_bytes, n * sample_bytes};
        frame.header.payload_bytes = frame.payload.size();
        std::array<std::byte, 2 * sizeof(std::uint32_t)> offsets{};
        if (blob) {
            const auto end = static_cast<std::uint32_t>(sample_bytes);
            std::memcpy(offsets.data() + sizeof end, &end, sizeof end);
            frame.prefix = offsets;
            frame.header.payload_bytes += offsets.size();
        }
        frame.head = wire::encode_data_head(frame.header, buffer);
        send_frame(frame);
        sequence_ += n;
        pushed_sync_.fetch_add(n, std::memory_order_relaxed);
        done += n;
    }
}

/// Hands one frame to all consumers of all links, then waits until nothing refers to the payload.
void outlet_impl::send_frame(const transport::sync_frame& frame) {
    check_open();
    const time_point deadline = deadline_after(clock::now(), send_timeout_);
    for (const auto& link : links_)
        link->begin_send(frame, deadline);
    bool aborted = false;
    for (;;) {
        const time_point at = clock::now();
        wait_.clear();
        bool done = true;
        for (const auto& link : links_)
            done &= link->progress(at, wait_);
        if (done)
            break;
        if (!aborted && stopping_.load(std::memory_order_acquire)) {
            for (const auto& link : links_)
                link->abort_send();
            aborted = true;
            continue;
        }
        if (!aborted)
            wait_.add(stop_fd_.get(), POLLIN);
        wait_.wait(at);
    }
    environment_.drains->changed();
    if (aborted)
        check_open();
}

// --- consumers ------------------------------------------------------------------------------------------------------

void outlet_impl::consumer_changed(const consumer_event& event) {
    { const std::lock_guard lock(consumers_mutex_); } // whoever waits has seen the old count and sleeps
    consumers_changed_.notify_all();
    const platform::logger::fields fields{{"stream", info_.name},   {"consumer", event.id},
                                          {"name", event.name},     {"address", event.address},
                                          {"endpoint", event.link}, {"sequence", event.sequence}};
    switch (event.what) {
    case consumer_event::kind::joined: ctx_->log->debug("consumer_joined", fields, "a consumer joined"); break;
    case consumer_event::kind::left: ctx_->log->debug("consumer_left", fields, "a consumer left"); break;
    case consumer_event::kind::kicked:
        ctx_->log->warn("consumer_kicked", fields, "disconnected a consumer that did not take its bytes in time");
        break;
    }
    const std::lock_guard lock(callback_mutex_);
    if (event.what == consumer_event::kind::joined)
        present_.emplace(event.id, event);
    else
        present_.erase(event.id);
    if (const auto callback = callback_) // it may replace itself
        (*callback)(event);
}

std::size_t outlet_impl::consumer_count() const {
    if (inert())
        return 0;
    std::size_t count = 0;
    for (const auto& link : links_)
        count += link->consumer_count();
    return count;
}

bool outlet_impl::wait_for_consumers(std::chrono::nanoseconds timeout, std::size_t count) const {
    if (inert())
        throw error(errc::closed, title() + ": it belongs to the parent process; make outlets after fork");
    std::unique_lock lock(consumers_mutex_);
    const auto ready = [&] { return stopping_.load() || consumer_count() >= count; };
    platform::wait_until(consumers_changed_, lock, deadline_after(clock::now(), timeout), ready);
    return consumer_count() >= count && !stopping_.load();
}

void outlet_impl::set_consumer_callback(std::function<void(const consumer_event&)> callback) {
    using function = std::function<void(const consumer_event&)>;
    const std::lock_guard lock(callback_mutex_);
    const auto mine = callback ? std::make_shared<const function>(std::move(callback)) : nullptr;
    callback_ = mine;
    const auto present = present_; // a callback may cause a change
    for (auto next = present.begin(); mine && callback_ == mine && next != present.end(); ++next)
        (*mine)(next->second);
}

void outlet_impl::set_control_handler(core::control_worker::handler handler, control_thread thread) {
    check_open();
    service_->set_handler(std::move(handler), thread);
}

bool outlet_impl::flush(std::chrono::nanoseconds timeout) const {
    if (inert())
        return true;
    bool drained = false;
    const auto over = [&] {
        const bool all = std::ranges::all_of(links_, [](const auto& link) { return link->drained(); });
        const bool stopping = stopping_.load(); // after looking: links that are closing have nobody left to wait for
        drained = all && !stopping;
        return drained || stopping;
    };
    environment_.drains->wait(over, deadline_after(clock::now(), timeout));
    return drained;
}

std::uint64_t outlet_impl::pushed() const noexcept {
    return log_ ? log_->head() : pushed_sync_.load(std::memory_order_relaxed);
}

outlet_stats outlet_impl::stats() const {
    outlet_stats result;
    if (inert())
        return result;
    result.pushed = pushed();
    for (const auto& link : links_)
        link->add_stats(result);
    return result;
}

void outlet_impl::begin_segment(stream_info next, std::uint64_t first_sequence) {
    const stream_info& mine = info_;
    if (next.name != mine.name || next.format != mine.format || next.channel_count != mine.channel_count ||
        next.nominal_rate_hz != mine.nominal_rate_hz)
        throw error(
            errc::invalid_argument,
            fmt::format("{}: a segment cannot be another stream: it is {} x {} at {} Hz, got \"{}\", {} x {} at "
                        "{} Hz; make a new outlet",
                        title(), mine.channel_count, to_string(mine.format), mine.nominal_rate_hz, next.name,
                        next.channel_count, to_string(next.format), next.nominal_rate_hz));
    validate(next);
    if (!log_ && first_sequence != 0)
        throw error(errc::not_supported, title() + ": first_sequence is for delivery::async");
    const std::lock_guard lock(producer_);
    check_open();
    stream_info segment = info();
    segment.desc = std::move(next.desc);
    segment.origin = advert_.info.origin = std::move(next.origin);
    segment.relays = advert_.info.relays = std::move(next.relays);
    segment.uid = core::new_uid();
    const std::string uid = segment.uid;
    environment_.segments->begin(std::move(segment), log_ ? log_->head() : 0, log_ ? log_->oldest() : 0,
                                 first_sequence);
    sequence_ = 0;
    service_->begin_segment(uid);
    for (const auto& link : links_)
        link->begin_segment();
    if (advert_.endpoints.empty())
        return;
    ctx_->discovery.withdraw(advert_.info.uid);
    advert_.info.uid = uid;
    ctx_->discovery.advertise(advert_);
}

void outlet_impl::skip_to(std::uint64_t sequence) {
    const bool inproc = std::ranges::any_of(endpoints_, [](const auto& e) { return e.starts_with("inproc:"); });
    if (!log_ || inproc)
        throw error(errc::not_supported,
                    title() + ": leaving samples out takes async delivery, and no inproc endpoint");
    const std::lock_guard lock(producer_);
    check_open();
    const std::uint64_t head = log_->head();
    const std::uint64_t next = head - environment_.segments->current()->base;
    if (sequence < next)
        throw error(errc::invalid_argument,
                    fmt::format("{}: cannot go back to sample {}, the next one is {}", title(), sequence, next));
    if (sequence > next)
        environment_.segments->skip(head, log_->oldest(), sequence);
}

std::vector<std::string> outlet_impl::endpoints() const { return endpoints_; }

void outlet_impl::stop(std::chrono::nanoseconds linger) {
    if (inert())
        return;
    stopping_.store(true, std::memory_order_release);
    stop_fd_.set();
    if (log_)
        log_->interrupt_wait();
    environment_.drains->changed();
    const std::lock_guard once(stop_mutex_);
    if (stopped_)
        return;
    stopped_ = true;
    {
        const std::lock_guard lock(producer_); // a push under way leaves first
        if (log_)
            log_->finish();
    }
    { const std::lock_guard lock(consumers_mutex_); }
    consumers_changed_.notify_all();
    ctx_->discovery.withdraw(advert_.info.uid);
    const time_point deadline = deadline_after(clock::now(), linger);
    service_->begin_stop();
    for (const auto& link : links_)
        link->close(deadline);
    service_->stop(deadline);
    service_->release();
}

} // namespace rivulet::detail
