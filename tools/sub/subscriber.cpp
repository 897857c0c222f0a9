#include "sub/subscriber.hpp"

#include "common/connector.hpp"
#include "common/event_log.hpp"
#include "common/exit_code.hpp"
#include "common/log.hpp"
#include "common/selection.hpp"
#include "common/stop_signal.hpp"
#include "sub/output_set.hpp"
#include "sub/subscription.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <poll.h>

namespace rivulet::tools {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double slice_s = 0.2; ///< how late a stop, or a reader that left, is seen while a pull waits

class subscriber {
public:
    explicit subscriber(const sub_options& options)
        : options_(options), ctx_(make_context(options.common, "stream-sub")),
          events_(options.events ? std::make_unique<event_log>(*options.events) : std::make_unique<event_log>()),
          outputs_(options, signal_), ticking_(stderr_is_terminal() || events_->enabled()) {
        for (const std::string& endpoint : options.connect)
            open(endpoint);
        if (!options.wanted.given())
            return;
        search_.emplace(options.wanted.selector(), ctx_);
        if (options.timeout_s > 0)
            search_end_ = search_began_ + options.timeout_s;
    }

    int run() {
        try {
            while (step()) {
            }
            const double until = local_clock() + subscription::last_patience_s; // all of them together
            for (auto& stream : streams_)
                stream->conclude(until);
            outputs_.flush();
        } catch (const output_closed&) {
            end_ = "output_closed";
        } catch (...) {
            outputs_.flush_what_can_be();
            throw;
        }
        clear_status();
        summarise();
        return exit_code();
    }

private:
    bool step();
    void open(stream_source what);
    bool check_search();
    bool check_connections();
    const char* reason_to_end(double time) const;
    bool pull_all();
    void wait();
    void wait_for_any(double until);
    double next_deadline() const;
    void tick();
    void summarise();
    int exit_code();
    std::size_t in(subscription::state state) const;

    const sub_options& options_;
    stop_signal signal_;
    context ctx_;
    std::unique_ptr<event_log> events_;
    std::shared_ptr<wake_event> wake_ = std::make_shared<wake_event>();
    output_set outputs_;
    std::vector<std::unique_ptr<subscription>> streams_;
    std::optional<resolver> search_; ///< until enough streams are found
    const double search_began_ = local_clock();
    double search_end_ = never;
    bool ticking_;
    double next_tick_ = local_clock() + 1;
    double next_reader_check_ = 0;
    double duration_end_ = never;
    double idle_since_ = never; ///< the last sample, or the first connection
    const char* end_ = nullptr; ///< why all of it ends, where the streams do not say
    bool not_connected_ = false;
};

std::size_t subscriber::in(subscription::state state) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(streams_, [=](const auto& s) { return s->now_in() == state; }));
}

/// One round; false when it is over.
bool subscriber::step() {
    if (!check_search() || !check_connections())
        return false;
    const double time = local_clock();
    end_ = reason_to_end(time);
    if (end_ || (!search_ && in(subscription::state::over) == streams_.size()))
        return false;
    if (ticking_ && time >= next_tick_)
        tick();
    if (time >= next_reader_check_) {
        next_reader_check_ = time + slice_s;
        if (outputs_.reader_gone() || events_->reader_gone())
            throw output_closed();
    }
    if (!pull_all())
        wait();
    return true;
}

void subscriber::open(stream_source what) {
    const subscription::surroundings around{options_, ctx_, *events_, outputs_, wake_};
    streams_.push_back(std::make_unique<subscription>(std::move(what), around));
}

/// Opens what was searched once there is enough of it, and nothing more is coming just now. False: time is up.
bool subscriber::check_search() {
    if (!search_)
        return true;
    search_->take_events();
    auto found = search_->streams();
    const bool late = local_clock() >= search_end_;
    if (found.size() >= options_.minimum && (search_->settled() || late)) {
        for (found_stream& stream : found)
            open(std::move(stream));
        search_.reset();
    } else if (late) {
        clear_status();
        fmt::print(stderr, "stream-sub: {}\n",
                   not_found_message(options_.wanted, options_.minimum, *search_, options_.timeout_s, ctx_));
        not_connected_ = true;
        end_ = "not_connected";
        return false;
    }
    return true;
}

bool subscriber::check_connections() {
    for (auto& stream : streams_) {
        const bool before = stream->connected_once();
        try {
            stream->check_connection();
        } catch (const error& e) {
            if (e.code() != errc::not_connected)
                throw;
            clear_status();
            fmt::print(stderr, "stream-sub: {}\n", e.what());
            not_connected_ = true;
            end_ = "not_connected";
            return false;
        }
        if (!before && stream->connected_once() && duration_end_ == never) {
            idle_since_ = local_clock();
            duration_end_ = options_.duration_s ? idle_since_ + *options_.duration_s : never;
        }
    }
    return true;
}

const char* subscriber::reason_to_end(double time) const {
    if (signal_.requested())
        return "signal";
    if (time >= duration_end_)
        return "duration";
    if (options_.idle_timeout_s && time >= idle_since_ + *options_.idle_timeout_s)
        return "idle";
    return nullptr;
}

bool subscriber::pull_all() {
    bool any = false;
    for (auto& stream : streams_)
        if (stream->now_in() == subscription::state::open && stream->pull(std::chrono::nanoseconds(0)))
            any = true;
    if (any)
        idle_since_ = local_clock();
    return any;
}

double subscriber::next_deadline() const {
    const double found = search_ ? search_end_ : never;
    double until = std::min({found, duration_end_, idle_since_ + options_.idle_timeout_s.value_or(never)});
    return ticking_ ? std::min(until, next_tick_) : until;
}

/// Nothing is there. A single stream is waited for in its own pull, which may read the socket without another thread.
void subscriber::wait() {
    outputs_.flush();
    if (search_ || streams_.size() != 1 || in(subscription::state::open) == 0) {
        if (!options_.busy_poll || search_ || in(subscription::state::connecting) > 0)
            wait_for_any(next_deadline());
        return;
    }
    const double until = std::min(next_deadline(), local_clock() + slice_s);
    if (streams_.front()->pull(std::chrono::nanoseconds(nanoseconds_until(until))))
        idle_since_ = local_clock();
}

void subscriber::wait_for_any(double until) {
    std::vector<pollfd> entries{{signal_.fd(), POLLIN, 0}, {wake_->fd(), POLLIN, 0}, {outputs_.watched_fd(), 0, 0}};
    if (search_)
        entries.push_back({search_->wait_fd(), POLLIN, 0});
    for (const auto& stream : streams_)
        if (stream->now_in() == subscription::state::open)
            entries.push_back({stream->wait_fd(), POLLIN, 0});
    const long long left = nanoseconds_until(until);
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(entries.data(), entries.size(), &timeout, nullptr);
    wake_->clear();
    next_reader_check_ = 0;
}

void subscriber::tick() {
    const double time = local_clock();
    next_tick_ = time + 1;
    std::string text;
    if (search_)
        text = "searching" + options_.wanted.to_string();
    for (auto& stream : streams_) {
        stream_account& account = stream->account();
        const double rate = account.recent_rate_hz(time);
        if (!stream->connected_once()) {
            text += fmt::format("{}connecting to {}", text.empty() ? "" : "; ", account.link);
            continue;
        }
        const auto age = account.recent_age_ms();
        text += fmt::format("{}{}: {} samples, {:.0f} Hz, {} dropped{}", text.empty() ? "" : "; ", account.name,
                            account.samples(), rate, account.dropped(), age ? fmt::format(", {:.2f} ms", *age) : "");
        events_->emit("status", [&](json_writer& json) {
            json.field("name", account.name).field("uid", account.uid).field("samples", account.samples());
            json.field("rate_hz", rate).field("dropped", account.dropped());
            json.field("segments", account.segments()).field("recoveries", account.recoveries);
            age ? json.field("age_ms", *age) : json.null("age_ms");
            account.clock() ? json.field("clock_offset_s", account.clock()->offset_s) : json.null("clock_offset_s");
        });
    }
    show_status(text);
}

void subscriber::summarise() {
    const bool quiet = !options_.summary && end_ && std::string_view(end_) == "output_closed";
    for (auto& stream : streams_) {
        if (!stream->connected_once())
            continue;
        stream->settle(0);
        const std::string end = stream->now_in() == subscription::state::over || !end_ ? stream->end() : end_;
        const stream_account& account = stream->account();
        events_->emit("summary", [&](json_writer& json) { account.to_json(json, end); });
        if (quiet)
            continue;
        json_writer json;
        account.to_json(json.begin_object(), end);
        const std::string line =
            options_.summary == summary_format::json ? json.end_object().text() : account.to_text(end);
        write_report(line + '\n', options_.stdout_is_taken());
    }
}

int subscriber::exit_code() {
    const std::string_view end = end_ ? end_ : "";
    bool lost_data = false;
    bool early = false;
    for (auto& stream : streams_) {
        lost_data |= stream->account().dropped() > 0;
        early |= stream->end() == "lost" && stream->now_in() == subscription::state::over;
        early |= options_.count && !stream->has_count();
    }
    if (options_.strict && lost_data)
        return exit_data_lost;
    if (not_connected_)
        return exit_not_connected;
    if (end == "signal" || end == "output_closed")
        return exit_done;
    // What was asked for: all of the count, or the whole duration; with both, whichever comes first.
    if (options_.duration_s)
        early = end != "duration" && (early || !options_.count);
    return early ? exit_ended_early : exit_done;
}

} // namespace

int subscribe(const sub_options& options) { return subscriber(options).run(); }

} // namespace rivulet::tools
