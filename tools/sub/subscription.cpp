#include "sub/subscription.hpp"

#include "common/log.hpp"

#include <algorithm>
#include <cmath>

namespace rivulet::tools {
namespace {

constexpr std::size_t most_bytes = 1 << 20; ///< of a pull, so that several streams get their turn
constexpr std::size_t most_texts = 256;
constexpr double clock_interval_s = 0.5;     ///< between looks at what is known of a stream's clock
constexpr double clock_first_look_s = 0.005; ///< until it is known at all
constexpr double clock_patience_s = 10;      ///< of ages for it

} // namespace

subscription::subscription(stream_source what, const surroundings& around) : target_(std::move(what)), around_(around) {
    const auto* found = std::get_if<found_stream>(&target_);
    account_.link = found ? found->info.name : std::get<std::string>(target_);
    connect(target_, to_duration(around_.options.timeout_s, true));
}

void subscription::connect(std::variant<stream_source, successor> what, std::chrono::nanoseconds timeout) {
    inlet_options settings;
    settings.full = around_.options.full;
    if (!around_.options.recover)
        settings.recover_for = std::chrono::nanoseconds(0);
    settings.start = around_.options.start;
    settings.open_timeout = timeout;
    settings.stamps = around_.options.processing;
    if (around_.options.busy_poll)
        settings.busy_poll = std::chrono::seconds(1);
    settings.ctx = around_.ctx;
    state_ = state::connecting;
    const bool wall = around_.options.stamps == stamp_clock::wall;
    connector_.emplace(std::move(what), std::move(settings), around_.wake,
                       wall ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(1));
}

void subscription::check_connection() {
    if (state_ != state::connecting || !connector_->done())
        return;
    inlet_.emplace(connector_->take());
    connector_.reset();
    state_ = state::open;
    if (connected_once_)
        account_.new_segment();
    begin_segment();
    connected_once_ = true;
}

/// The stream as the inlet describes it now, and where its samples go.
void subscription::begin_segment() {
    info_ = inlet_->info();
    account_.link = inlet_->endpoint();
    account_.name = info_.name;
    account_.uid = info_.uid;
    account_.source_id = info_.source_id;
    account_.stamps_are_local = around_.options.processing.clocksync;
    account_.await_clock();
    clock_given_up_ = local_clock() + clock_patience_s;
    look_at_clock_ = 0;
    output_file* file = around_.outputs.open(info_, this);
    if (const std::string path = file ? file->path() : std::string(); !sink_ || path != sink_path_) {
        sink_ = make_sink(around_.options.sink, file);
        sink_path_ = path;
    }
    sink_->begin(info_);
    around_.events.emit(connected_once_ ? "segment" : "ready", [&](json_writer& json) {
        json.field("name", info_.name).field("type", info_.type).field("source_id", info_.source_id);
        json.field("uid", info_.uid).field("channels", info_.channel_count).field("rate_hz", info_.nominal_rate_hz);
        json.field("format", to_string(info_.format))
            .field("link", account_.link)
            .field("segments", account_.segments())
            .field("origin", info_.origin)
            .field("relays", info_.relays.size());
    });
    log_info(connected_once_ ? "segment" : "ready", "'{}' ({}), {} x {} at {} Hz from {}", info_.name, info_.uid,
             info_.channel_count, to_string(info_.format), info_.nominal_rate_hz, account_.link);
}

std::size_t subscription::chunk_limit() const {
    std::size_t most =
        is_fixed_size(info_.format) ? std::max<std::size_t>(most_bytes / info_.sample_bytes(), 1) : most_texts;
    if (around_.options.count)
        most = static_cast<std::size_t>(std::min<std::uint64_t>(most, *around_.options.count - account_.samples()));
    return most;
}

pull_result subscription::pull_values(std::chrono::nanoseconds timeout, std::size_t most, received_chunk& chunk) {
    if (!is_fixed_size(info_.format)) {
        const pull_result result = inlet_->pull_chunk(texts_, stamps_, timeout, most);
        chunk.texts = texts_;
        chunk.stamps = stamps_;
        return result;
    }
    view_ = inlet_->pull_view(timeout, most);
    chunk.values = view_.bytes();
    chunk.stamps = view_.stamps();
    return view_.result();
}

void subscription::look_at_clock(double time) {
    if (time < look_at_clock_)
        return;
    const auto known = inlet_->time_correction(std::chrono::nanoseconds(0));
    if (known || (account_.awaits_clock() && time >= clock_given_up_))
        account_.clock_is(known);
    look_at_clock_ = time + (account_.awaits_clock() ? clock_first_look_s : clock_interval_s);
    account_.recoveries = recoveries_before_ + inlet_->stats().reconnects;
    if (known)
        take_clock_records();
}

/// Only captures have a place for them.
void subscription::take_clock_records() {
    if (around_.options.sink.format != output_format::frames)
        return;
    for (const clock_record& record : inlet_->take_clock_records())
        sink_->clock(record);
}

std::span<const std::int64_t> subscription::unix_times(std::span<const double> stamps) {
    const std::int64_t last = inlet_->to_unix_ns(stamps.back());
    unix_ns_.resize(stamps.size());
    for (std::size_t i = 0; i < stamps.size(); ++i)
        unix_ns_[i] = last - std::llround((stamps.back() - stamps[i]) * 1e9);
    return unix_ns_;
}

bool subscription::pull(std::chrono::nanoseconds timeout) {
    look_at_clock(local_clock());
    received_chunk chunk;
    pull_result result;
    try {
        result = pull_values(timeout, chunk_limit(), chunk);
    } catch (const stream_lost& e) {
        log_warn("lost", "{}", e.what());
        finish("lost");
        return true;
    }
    if (result.status == pull_status::timeout)
        return false;
    if (result.status == pull_status::ended) {
        report(account_.ended(result.lost_before, result.first_sequence));
        take_clock_records();
        sink_->end(account_.next_sequence());
        log_info("ended", "'{}' ended after {} samples", info_.name, account_.samples());
        finish("ended");
        return true;
    }
    if (result.new_segment) {
        account_.new_segment();
        begin_segment();
    }
    take(result, chunk);
    view_ = {};
    if (has_count())
        finish("count");
    return true;
}

void subscription::take(const pull_result& result, received_chunk& chunk) {
    const double arrival = local_clock();
    chunk.first_sequence = result.first_sequence;
    chunk.samples = result.samples;
    report(account_.chunk(result.first_sequence, result.samples, result.lost_before, chunk.stamps.back(), arrival));
    if (around_.options.stamps == stamp_clock::wall)
        chunk.unix_ns = unix_times(chunk.stamps);
    std::vector<double> arrivals;
    if (around_.options.stamps == stamp_clock::local) {
        arrivals.resize(result.samples, arrival);
        if (const double rate = info_.nominal_rate_hz; rate > 0)
            for (std::size_t i = 0; i < result.samples; ++i)
                arrivals[i] = arrival - static_cast<double>(result.samples - 1 - i) / rate;
        chunk.stamps = arrivals;
    }
    sink_->write(chunk);
}

void subscription::report(const stream_account::finding& found) {
    if (!found.lost)
        return;
    around_.events.emit("gap", [&](json_writer& json) {
        json.field("name", info_.name).field("uid", info_.uid);
        json.field("first_seq", found.lost->first_seq).field("count", found.lost->count);
    });
    if (around_.options.full != when_full::latest) // which leaves samples out by intent
        log_warn("gap", "'{}': {} samples missing from {}", info_.name, found.lost->count, found.lost->first_seq);
}

void subscription::settle(double until) {
    if (!inlet_)
        return;
    if (account_.awaits_clock())
        account_.clock_is(inlet_->time_correction(to_duration(std::max(until - local_clock(), 0.0))));
    account_.recoveries = recoveries_before_ + inlet_->stats().reconnects;
}

void subscription::conclude(double until) {
    settle(until);
    if (inlet_)
        take_clock_records();
}

void subscription::finish(const char* why) {
    view_ = {};
    conclude(local_clock() + last_patience_s);
    recoveries_before_ = account_.recoveries;
    inlet_.reset();
    end_ = why;
    state_ = state::over;
    if (around_.options.wait_at_end && !has_count())
        std::holds_alternative<std::string>(target_) ? connect(target_, forever)
                                                     : connect(successor{{info_, {}, {}}}, forever);
}

} // namespace rivulet::tools
