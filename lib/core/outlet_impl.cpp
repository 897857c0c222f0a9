#include "core/outlet_impl.hpp"

#include "core/identity.hpp"
#include "core/limits.hpp"
#include "platform/wait.hpp"
#include "transport/endpoint_choice.hpp"

#include <algorithm>
#include <cerrno>
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
