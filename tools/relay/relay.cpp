#include "relay/relay.hpp"

#include "common/exit_code.hpp"
#include "common/log.hpp"
#include "common/output_file.hpp"
#include "common/stop_signal.hpp"
#include "relay/relayed_stream.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <random>
#include <set>

namespace rivulet::tools {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double retry_s = 2;
constexpr double hopeless_retry_s = 30;                 ///< where waiting alone does not help: its address is taken
constexpr auto open_timeout = std::chrono::seconds(10); ///< of streams that were found

std::string new_relay_id() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

/// Streams that were found and must not be relayed: those that come from here. Told by the I/O thread.
class refusals {
public:
    explicit refusals(std::string relay_id) : relay_id_(std::move(relay_id)) {}

    const std::string& relay_id() const noexcept { return relay_id_; }
    /// Why not; "" when nothing is wrong.
    std::string problem(const stream_info& info) const {
        if (std::ranges::count(info.relays, relay_id_) != 0)
            return "loop";
        return info.relays.size() >= max_relays ? "too_many_relays" : "";
    }
    bool admits(const found_stream& stream) {
        const std::string why = problem(stream.info);
        if (why.empty())
            return true;
        const std::scoped_lock lock(mutex_);
        fresh_.emplace_back(stream.info, why);
        return false;
    }
    std::vector<std::pair<stream_info, std::string>> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(fresh_, {});
    }

private:
    const std::string relay_id_;
    std::mutex mutex_;
    std::vector<std::pair<stream_info, std::string>> fresh_;
};

/// A stream from being found, or named, to its end.
struct route {
    stream_source what;
    std::optional<connector> opening;
    std::unique_ptr<relayed_stream> running;
    double retry_at = 0;
    bool refused = false; ///< for good

    const found_stream* found() const { return std::get_if<found_stream>(&what); }
    std::string name() const { return found() ? found()->info.name : std::get<std::string>(what); }
};

class relay {
public:
    explicit relay(const relay_options& options)
        : options_(options), from_(make_context(options.common, "stream-relay")),
          to_(make_context(options.output_side(), "stream-relay")),
          events_(options.events ? std::make_unique<event_log>(*options.events) : std::make_unique<event_log>()),
          ticking_(stderr_is_terminal() || events_->enabled()) {
        for (const std::string& endpoint : options.connect)
            routes_.push_back(std::make_unique<route>(route{endpoint, {}, {}}));
        if (options.timeout_s > 0)
            timeout_end_ = began_ + options.timeout_s;
        if (options.duration_s)
            duration_end_ = began_ + *options.duration_s;
        events_->emit("started", [&](json_writer& json) { json.field("relay", refusals_->relay_id()); });
        if (options.wanted.given())
            search_.emplace(selector(), from_);
    }

    int run() {
        while (!signal_.requested() && step())
            wait();
        for (auto& one : routes_)
            if (one->running)
                one->running->stop("signal");
        clear_status();
        for (auto& one : routes_)
            if (one->running)
                finish(*one);
        write_report(report_, options_.events == "-");
        return exit_code_;
    }

private:
    stream_selector selector() const {
        stream_selector wanted = options_.wanted.selector();
        wanted.where = [inner = wanted.where, guard = refusals_](const found_stream& stream) {
            return inner(stream) && guard->admits(stream);
        };
        return wanted;
    }

    bool step();
    void look_around();
    void tell_refused();
    void refuse(const stream_info& info, const std::string& why);
    bool is_known(const found_stream& stream) const;
    void connect(route& one);
    void check_connection(route& one);
    void finish(route& one);
    void end_doubles();
    bool all_over() const;
    void tick();
    void wait();

    const relay_options& options_;
    stop_signal signal_;
    context from_, to_;
    std::unique_ptr<event_log> events_;
    std::shared_ptr<wake_event> wake_ = std::make_shared<wake_event>();
    const std::shared_ptr<refusals> refusals_ = std::make_shared<refusals>(new_relay_id());
    std::optional<resolver> search_;
    std::vector<std::unique_ptr<route>> routes_;
    /// Uids of streams that are advertised and not to be tried before then: those that ended, or could not be opened.
    std::map<std::string, double> not_before_;
    std::set<std::string> mine_; ///< uids under which streams are, or were, repeated
    std::set<std::string> told_; ///< uids whose refusal was told
    const double began_ = local_clock();
    double timeout_end_ = never;
    double duration_end_ = never;
    bool ticking_;
    double next_tick_ = local_clock() + 1;
    bool relayed_any_ = false;
    std::string report_;
    int exit_code_ = exit_done;
};

/// One round; false when it is over.
bool relay::step() {
    if (search_)
        look_around();
    for (auto& one : routes_) {
        if (one->running && one->running->over()) {
            finish(*one);
            one->retry_at = local_clock() + 0.1;
        }
        if (one->opening && one->opening->done())
            check_connection(*one);
        if (!one->found() && !one->running && !one->opening && !one->refused && local_clock() >= one->retry_at)
            connect(*one);
    }
    std::erase_if(routes_, [](const auto& one) { return one->found() && !one->running && !one->opening; });
    end_doubles();
    const double time = local_clock();
    if (ticking_ && time >= next_tick_)
        tick();
    if (time >= duration_end_)
        return false;
    if (!relayed_any_ && time >= timeout_end_) {
        clear_status();
        fmt::print(stderr, "stream-relay: {}\n",
                   search_ ? not_found_message(options_.wanted, 1, *search_, options_.timeout_s, from_)
                           : fmt::format("no stream to relay within {} s", options_.timeout_s));
        exit_code_ = exit_not_connected;
        return false;
    }
    if (!search_ && std::ranges::all_of(routes_, [](const auto& one) { return one->refused; })) {
        clear_status();
        fmt::print(stderr, "stream-relay: nothing to relay: all streams of --connect were refused\n");
        exit_code_ = exit_failed;
        return false;
    }
    return options_.wait_at_end || !relayed_any_ || !all_over();
}

bool relay::all_over() const {
    return std::ranges::none_of(routes_,
                                [](const auto& one) { return one->running || (one->found() && one->opening); });
}

/// Relays what is there and not relayed yet.
void relay::look_around() {
    std::erase_if(not_before_, [time = local_clock()](const auto& one) { return one.second <= time; });
    for (const stream_event& event : search_->take_events())
        if (event.what == stream_event::kind::disappeared)
            not_before_.erase(event.stream.info.uid);
    tell_refused();
    if (!search_->settled()) // originals may be about to answer
        return;
    for (found_stream& stream : search_->streams())
        if (!is_known(stream)) {
            routes_.push_back(std::make_unique<route>(route{std::move(stream), {}, {}}));
            connect(*routes_.back());
        }
}

void relay::tell_refused() {
    for (const auto& [info, why] : refusals_->take())
        if (!mine_.contains(info.uid) &&
            told_.insert(info.uid).second) // our own outlets come back as a matter of course
            refuse(info, why);
}

void relay::refuse(const stream_info& info, const std::string& why) {
    events_->emit("refused", [&](json_writer& json) {
        json.field("name", info.name).field("uid", info.uid).field("origin", info.origin);
        json.field("relays", info.relays.size()).field("reason", why);
    });
    log_warn("refused", "'{}' ({}): {}", info.name, info.uid,
             why == "loop" ? "it has passed this relay already" : "it has passed too many relays");
}

bool relay::is_known(const found_stream& stream) const {
    if (not_before_.contains(stream.info.uid))
        return true;
    return std::ranges::any_of(routes_, [&](const auto& one) {
        if (one->found() && one->found()->info.lineage() == stream.info.lineage())
            return true;
        if (!one->running)
            return false;
        // The same source once more while its inlet looks for it: the inlet takes it.
        return one->running->lineage() == stream.info.lineage() ||
               (!stream.info.source_id.empty() && one->running->source_id() == stream.info.source_id &&
                !one->running->connected());
    });
}

void relay::connect(route& one) {
    inlet_options settings;
    settings.name = "stream-relay";
    settings.start = options_.start;
    settings.full = options_.full == on_full::wait ? when_full::hold : when_full::drop_oldest;
    settings.stamps.clocksync = options_.clocksync;
    settings.recover_for = to_duration(options_.recover_for_s);
    settings.open_timeout = one.found() ? std::chrono::nanoseconds(open_timeout) : forever;
    settings.ctx = from_;
    one.opening.emplace(one.what, std::move(settings), wake_, std::chrono::milliseconds(1));
}

void relay::check_connection(route& one) {
    try {
        inlet opened = one.opening->take();
        one.opening.reset();
        const stream_info info = opened.info();
        if (const std::string why = refusals_->problem(info); !why.empty()) {
            one.refused = true;
            return refuse(info, why);
        }
        const relayed_stream::surroundings around{options_, to_, refusals_->relay_id(), *events_, wake_};
        one.running = std::make_unique<relayed_stream>(std::move(opened), around);
        mine_.insert(one.running->uid());
        relayed_any_ = true;
    } catch (const error& e) {
        one.opening.reset();
        const bool fatal = !one.found() && e.code() != errc::not_connected;
        if (fatal && routes_.size() == 1)
            throw;
        one.refused = fatal;
        one.retry_at = local_clock() + retry_s;
        if (one.found())
            not_before_[one.found()->info.uid] =
                local_clock() + (e.code() == errc::not_connected ? retry_s : hopeless_retry_s);
        log_warn("not_relayed", "'{}': {}", one.name(), e.what());
        events_->emit("refused", [&](json_writer& json) { json.field("name", one.name()).field("reason", e.what()); });
    }
}

void relay::finish(route& one) {
    report_ += one.running->summary() + '\n';
    if (one.found())
        not_before_[one.found()->info.uid] = never;
    one.running.reset();
}

/// Two that turn out to be the same stream, as the inlet of one has found it elsewhere: the later one ends.
void relay::end_doubles() {
    std::set<std::string> seen;
    for (auto& one : routes_)
        if (one->running) {
            mine_.insert(one->running->uid());
            if (!seen.insert(one->running->lineage()).second)
                one->running->stop("double");
        }
}

void relay::tick() {
    next_tick_ = local_clock() + 1;
    std::string text;
    for (auto& one : routes_)
        if (one->running)
            text += (text.empty() ? "" : "; ") + one->running->status(local_clock());
    show_status(text.empty() ? "waiting for streams" : text);
}

void relay::wait() {
    double until = std::min(duration_end_, relayed_any_ ? never : timeout_end_);
    if (ticking_)
        until = std::min(until, next_tick_);
    for (const auto& one : routes_)
        if (!one->found() && !one->running && !one->opening && !one->refused)
            until = std::min(until, one->retry_at);
    for (const auto& [uid, time] : not_before_)
        until = std::min(until, time);
    pollfd entries[] = {
        {signal_.fd(), POLLIN, 0}, {wake_->fd(), POLLIN, 0}, {search_ ? search_->wait_fd() : -1, POLLIN, 0}};
    const long long left = nanoseconds_until(until);
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(entries, std::size(entries), &timeout, nullptr);
    wake_->clear();
}

} // namespace

int relay_streams(const relay_options& options) { return relay(options).run(); }

} // namespace rivulet::tools
