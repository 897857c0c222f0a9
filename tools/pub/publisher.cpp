#include "pub/publisher.hpp"

#include "common/event_log.hpp"
#include "common/exit_code.hpp"
#include "common/log.hpp"
#include "common/output_file.hpp"
#include "common/pacer.hpp"
#include "common/stop_signal.hpp"
#include "common/watcher.hpp"
#include "pub/plan.hpp"

#include <rivulet/outlet.hpp>

#include <atomic>
#include <fmt/format.h>

namespace rivulet::tools {
namespace {

using std::chrono_literals::operator""ms;
constexpr std::chrono::nanoseconds linger_after_signal = 200ms;

void push(outlet& out, channel_format format, const batch& samples) {
    const auto push_range = [&](const auto& values) {
        samples.stamps.empty() ? out.push_chunk(values) : out.push_chunk(values, std::span(samples.stamps));
    };
    if (is_fixed_size(format)) {
        with_value_type(format, [&]<class T>(T) {
            push_range(std::span(reinterpret_cast<const T*>(samples.values.data()), samples.values.size() / sizeof(T)));
        });
    } else if (format == channel_format::string) {
        push_range(samples.texts);
    } else {
        for (std::size_t i = 0; i < samples.samples; ++i)
            out.push_sample(std::as_bytes(std::span(samples.texts[i].data(), samples.texts[i].size())),
                            samples.stamps.empty() ? now : samples.stamps[i]);
    }
}

class publisher {
public:
    explicit publisher(const pub_options& options)
        : options_(options), ctx_(make_context(options.common, "stream-pub")), stop_{signal_},
          plan_(make_plan(options, stop_)), events_(make_events(options)), out_(plan_.info, outlet_settings()) {}

    int run() {
        announce();
        const bool watched = stderr_is_terminal() || events_->enabled();
        started_ = local_clock();
        {
            watcher beside(signal_, watched ? std::function<void()>([this] { show_progress(); }) : nullptr,
                           [this] { out_.stop(linger_after_signal); });
            if (!wait_for_consumers())
                return signal_.requested() ? finish() : give_up_waiting();
            push_all();
            drain();
        }
        return finish();
    }

private:
    static std::unique_ptr<event_log> make_events(const pub_options& o) {
        return o.events ? std::make_unique<event_log>(*o.events) : std::make_unique<event_log>();
    }

    outlet_options outlet_settings() const {
        outlet_options settings;
        if (!options_.bind.empty())
            settings.endpoints = options_.bind;
        settings.mode = options_.mode;
        settings.full = plan_.full;
        settings.buffer = options_.buffer;
        if (options_.send_timeout_s)
            settings.send_timeout = to_duration(*options_.send_timeout_s, true);
        if (options_.linger_s)
            settings.linger = to_duration(*options_.linger_s);
        settings.ctx = ctx_;
        return settings;
    }

    void announce();
    void report_consumer(const consumer_event& e);
    bool wait_for_consumers();
    int give_up_waiting();
    void push_all();
    bool push_next(std::optional<pacer>& pace);
    void drain();
    void show_progress();
    int finish();
    bool complete() const { return options_.count && pushed_ >= *options_.count; }

    const pub_options& options_;
    stop_signal signal_;
    context ctx_;
    stop_condition stop_;
    pub_plan plan_;
    std::unique_ptr<event_log> events_;
    outlet out_;

    batch batch_;
    std::atomic<std::uint64_t> pushed_{0};
    const char* end_ = "signal";
    double started_ = 0;
    double ended_ = 0;
    std::uint64_t shown_samples_ = 0; ///< watcher thread
};

void publisher::announce() {
    const stream_info& info = out_.info();
    out_.on_consumer([this](const consumer_event& e) { report_consumer(e); });
    events_->emit("ready", [&](json_writer& json) {
        json.field("name", info.name).field("type", info.type).field("source_id", info.source_id);
        json.field("uid", info.uid).field("channels", info.channel_count).field("rate_hz", info.nominal_rate_hz);
        json.field("format", to_string(info.format)).begin_array("endpoints");
        for (const std::string& endpoint : out_.endpoints())
            json.element(endpoint);
        json.end_array();
    });
    log_info("ready", "'{}', {} x {} at {} Hz: stream-sub --connect {}", info.name, info.channel_count,
             to_string(info.format), info.nominal_rate_hz, fmt::join(out_.endpoints(), " or --connect "));
}

/// Called on the library's I/O thread.
void publisher::report_consumer(const consumer_event& e) {
    static constexpr const char* names[] = {"consumer_joined", "consumer_left", "consumer_kicked"};
    const char* name = names[static_cast<std::size_t>(e.what)];
    events_->emit(name, [&](json_writer& json) {
        json.field("id", e.id).field("name", e.name).field("address", e.address).field("link", e.link);
        json.field("sequence", e.sequence);
    });
    const auto text = fmt::format("{} {} on {} at sample {}", e.name, e.address, e.link, e.sequence);
    e.what == consumer_event::kind::kicked ? log_warn(name, "{}", text) : log_info(name, "{}", text);
}

bool publisher::wait_for_consumers() {
    if (options_.wait_consumers == 0)
        return true;
    const auto timeout = options_.wait_timeout_s ? to_duration(*options_.wait_timeout_s) : forever;
    return out_.wait_for_consumers(timeout, static_cast<std::size_t>(options_.wait_consumers));
}

int publisher::give_up_waiting() {
    clear_status();
    fmt::print(stderr, "stream-pub: {} of {} consumers came within {} s\n", out_.consumer_count(),
               options_.wait_consumers, *options_.wait_timeout_s);
    return exit_not_connected;
}

void publisher::push_all() {
    started_ = local_clock();
    if (options_.duration_s)
        stop_.deadline = started_ + *options_.duration_s;
    std::optional<pacer> pace;
    if (plan_.pace_hz > 0)
        pace.emplace(plan_.pace_hz, started_);
    try {
        while (!signal_.requested() && push_next(pace)) {
        }
    } catch (const error& e) {
        // The watcher closes the outlet to wake a push that waits.
        if (e.code() != errc::closed || !signal_.requested())
            throw;
        end_ = "signal";
    }
    ended_ = local_clock();
    if (pace && pace->restarts() > 0)
        log_warn("behind", "could not keep the pace {} times; the schedule began afresh each time", pace->restarts());
}

/// False when it is over; end_ says why.
bool publisher::push_next(std::optional<pacer>& pace) {
    if (complete()) {
        end_ = "count";
        return false;
    }
    std::size_t room = plan_.chunk;
    if (options_.count)
        room = static_cast<std::size_t>(std::min<std::uint64_t>(room, *options_.count - pushed_));
    // Whether a sample still belongs to the duration is decided by its due time, not by when we wake.
    const bool time_is_up = (pace ? pace->due() : local_clock()) >= stop_.deadline;
    if (time_is_up || !plan_.source->next(room, batch_)) {
        end_ = signal_.requested() ? "signal" : time_is_up || stop_.reached() ? "duration" : "input_ended";
        return false;
    }
    if (options_.count)
        batch_.truncate(static_cast<std::size_t>(std::min<std::uint64_t>(batch_.samples, *options_.count - pushed_)));
    if (pace) {
        if (signal_.wait_until(pace->due()))
            return false;
        pace->pushed(batch_.samples, local_clock());
    }
    push(out_, plan_.info.format, batch_);
    pushed_ += batch_.samples;
    return true;
}

/// A source that waits for slow consumers does so at its end too: until they have everything, or stall.
void publisher::drain() {
    if (options_.mode == delivery::sync || plan_.full != on_full::wait)
        return;
    const auto patience = options_.send_timeout_s ? to_duration(*options_.send_timeout_s, true)
                                                  : ctx_.settings().effective_send_timeout();
    std::uint64_t sent = out_.stats().sent;
    double last_progress = local_clock();
    while (!signal_.requested() && !out_.flush(100ms)) {
        const std::uint64_t before = std::exchange(sent, out_.stats().sent);
        if (sent != before)
            last_progress = local_clock();
        else if (patience != forever && to_duration(local_clock() - last_progress) > patience)
            return;
    }
}

void publisher::show_progress() {
    const outlet_stats stats = out_.stats();
    const std::uint64_t samples = pushed_;
    const std::uint64_t recent = samples - std::exchange(shown_samples_, samples);
    show_status(fmt::format("{} samples, {} Hz, {} consumers, {} dropped, {} kicked", samples, recent,
                            stats.current.size(), stats.dropped, stats.kicked));
    events_->emit("status", [&](json_writer& json) {
        json.field("samples", samples).field("rate_hz", recent).field("consumers", stats.current.size());
        json.field("dropped", stats.dropped).field("kicked", stats.kicked);
    });
}

int publisher::finish() {
    signal_.requested() ? out_.stop(linger_after_signal) : out_.stop();
    clear_status();
    const outlet_stats stats = out_.stats();
    const stream_info& info = out_.info();
    const double seconds = ended_ > started_ ? ended_ - started_ : 0;
    const double rate = seconds > 0 ? static_cast<double>(pushed_) / seconds : 0;
    const auto fill = [&](json_writer& json) {
        json.field("name", info.name).field("uid", info.uid).field("source_id", info.source_id);
        json.field("samples", pushed_.load()).field("duration_s", seconds).field("rate_hz", rate);
        json.field("consumers", stats.consumers).field("dropped", stats.dropped).field("kicked", stats.kicked);
        json.field("events_lost", events_->dropped()).field("end", end_);
    };
    events_->emit("summary", fill);

    json_writer json;
    fill(json.begin_object());
    const std::string line =
        options_.json
            ? json.end_object().text()
            : fmt::format("{}: {} samples in {:.3f} s ({:.6g} Hz), {} consumers, {} dropped, {} kicked; {}", info.name,
                          pushed_.load(), seconds, rate, stats.consumers, stats.dropped, stats.kicked, end_);
    write_report(line + '\n', options_.events == "-");
    const bool early =
        std::string_view(end_) == "input_ended" && ((options_.count && !complete()) || options_.duration_s);
    return early ? exit_ended_early : exit_done;
}

} // namespace

int publish(const pub_options& options) { return publisher(options).run(); }

} // namespace rivulet::tools
