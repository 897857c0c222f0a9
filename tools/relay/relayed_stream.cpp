#include "relay/relayed_stream.hpp"

#include "common/batch.hpp"
#include "common/log.hpp"
#include "common/output_path.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <pthread.h>
#include <span>

namespace rivulet::tools {
namespace {

using std::chrono_literals::operator""ms;
constexpr auto linger_after_signal = 200ms;
constexpr std::size_t most_bytes = 1 << 20; ///< of a pull
constexpr std::size_t most_texts = 256;

} // namespace

relayed_stream::relayed_stream(inlet in, const surroundings& around)
    : around_(around), in_(std::move(in)), first_sequence_(in_.next_sequence()), source_(in_.info()),
      out_(described(source_), settings(source_)), next_(first_sequence_) {
    lineage_ = source_.lineage();
    out_.on_control([this](const control_request& request) { return pass_on(request); });
    announce("ready");
    thread_ = std::thread([this] { run(); });
}

relayed_stream::~relayed_stream() {
    stop("signal");
    thread_.join();
}

/// The stream as it is offered: with where it comes from.
stream_info relayed_stream::described(const stream_info& source) const {
    stream_info out = source;
    out.origin = source.lineage();
    out.relays.push_back(around_.relay_id);
    return out;
}

outlet_options relayed_stream::settings(const stream_info& source) const {
    const relay_options& o = around_.options;
    outlet_options out;
    if (!o.bind.empty())
        out.endpoints.clear();
    for (const std::string& endpoint : o.bind)
        out.endpoints.push_back(expand_path(endpoint, source));
    out.full = o.full;
    out.buffer = o.buffer;
    if (o.send_timeout_s)
        out.send_timeout = to_duration(*o.send_timeout_s, true);
    out.first_sequence = first_sequence_;
    out.ctx = around_.to;
    return out;
}

/// A stream, or a segment of it, begins.
void relayed_stream::announce(const char* event) {
    const stream_info info = out_.info();
    {
        const std::scoped_lock lock(mutex_);
        account_.name = info.name;
        account_.uid = info.uid;
        account_.source_id = info.source_id;
        account_.link = in_.endpoint();
    }
    around_.events.emit(event, [&](json_writer& json) {
        json.field("name", info.name).field("type", info.type).field("source_id", info.source_id);
        json.field("uid", info.uid).field("origin", info.origin).field("relays", info.relays.size());
        json.field("channels", info.channel_count).field("rate_hz", info.nominal_rate_hz);
        json.field("format", to_string(info.format)).field("link", in_.endpoint()).field("next", next_);
        json.begin_array("endpoints");
        for (const std::string& endpoint : out_.endpoints())
            json.element(endpoint);
        json.end_array();
    });
    log_info(event, "'{}', {} x {} at {} Hz, from {}: stream-sub --connect {}", info.name, info.channel_count,
             to_string(info.format), info.nominal_rate_hz, in_.endpoint(),
             fmt::join(out_.endpoints(), " or --connect "));
}

std::string relayed_stream::lineage() const {
    const std::scoped_lock lock(mutex_);
    return lineage_;
}

std::string relayed_stream::uid() const {
    const std::scoped_lock lock(mutex_);
    return account_.uid;
}

std::string relayed_stream::source_id() const { return source_.source_id; }

// --- the thread -----------------------------------------------------------------------------------------------------

void relayed_stream::run() {
    pthread_setname_np(pthread_self(), "relay");
    std::string why = "ended";
    try {
        transfer();
    } catch (const stream_lost& e) {
        log_warn("lost", "{}", e.what());
        why = "lost";
    } catch (const error& e) {
        why = e.code() == errc::closed ? "signal" : "failed";
        if (why == "failed")
            log_warn("failed", "'{}': {}", source_.name, e.what());
    }
    {
        const std::scoped_lock lock(mutex_);
        if (end_.empty())
            end_ = why;
    }
    view_ = {};
    end_outlet(why != "signal");
    over_.store(true);
    around_.wake->set();
}

/// What has come gets out; consumers that are waited for while the stream runs are waited for at its end, too.
void relayed_stream::end_outlet(bool patient) {
    in_.close(); // ends a control message under way
    out_.on_control({});
    if (!patient)
        return out_.stop(linger_after_signal);
    if (around_.options.full == on_full::wait) {
        const auto& o = around_.options;
        out_.flush(o.send_timeout_s ? to_duration(*o.send_timeout_s, true)
                                    : around_.to.settings().effective_send_timeout());
    }
    out_.stop();
}

/// A control message goes to whoever pushes the stream, and the reply back. On the outlet's thread for that.
control_reply relayed_stream::pass_on(const control_request& request) {
    try {
        if (auto reply = in_.send_control(request.data, {.about_sequence = request.about_sequence}))
            return *std::move(reply);
    } catch (const error& e) {
        if (e.code() != errc::closed)
            throw;
        return {.status = control_status::unavailable, .text = "the relay lets go of the stream"};
    }
    return {.status = control_status::failed,
            .text = "the relay was told nothing in time: whether it was carried out is unknown"};
}

void relayed_stream::transfer() {
    for (;;) {
        const pull_result result = pull();
        if (result.status == pull_status::timeout)
            continue;
        if (result.new_segment) {
            const stream_info info = in_.info();
            if (std::ranges::count(info.relays, around_.relay_id) != 0)
                throw stream_lost("'" + info.name + "' comes back from where it was sent to: it ended");
            out_.begin_segment(described(info), result.first_sequence);
            next_ = result.first_sequence;
            {
                const std::scoped_lock lock(mutex_);
                account_.new_segment();
                lineage_ = info.lineage();
            }
            announce("segment");
        }
        if (result.first_sequence > next_)
            out_.skip_to(result.first_sequence);
        next_ = result.first_sequence + result.samples;
        take(result, stamps_.empty() ? 0 : stamps_.back());
        if (result.status == pull_status::ended)
            return;
        push();
    }
}

pull_result relayed_stream::pull() {
    if (!is_fixed_size(source_.format))
        return in_.pull_chunk(texts_, stamps_, forever, most_texts);
    view_ = {}; // lets go of its memory first
    view_ = in_.pull_view(forever, std::max<std::size_t>(most_bytes / source_.sample_bytes(), 1));
    stamps_.assign(view_.stamps().begin(), view_.stamps().end());
    return view_.result();
}

void relayed_stream::take(const pull_result& result, double last_stamp) {
    stream_account::finding found;
    {
        const std::scoped_lock lock(mutex_);
        found = result.samples == 0 ? account_.ended(result.lost_before, result.first_sequence)
                                    : account_.chunk(result.first_sequence, result.samples, result.lost_before,
                                                     last_stamp, local_clock());
    }
    if (!found.lost)
        return;
    around_.events.emit("gap", [&](json_writer& json) {
        json.field("name", source_.name).field("uid", uid());
        json.field("first_seq", found.lost->first_seq).field("count", found.lost->count);
    });
    log_warn("gap", "'{}': {} samples missing from {}", source_.name, found.lost->count, found.lost->first_seq);
}

void relayed_stream::push() {
    const std::span<const double> stamps(stamps_);
    if (!is_fixed_size(source_.format))
        return out_.push_chunk(texts_, stamps);
    with_value_type(source_.format, [&]<class T>(T) { out_.push_chunk(view_.values<T>(), stamps); });
}

// --- from outside ---------------------------------------------------------------------------------------------------

void relayed_stream::stop(const char* why) {
    {
        const std::scoped_lock lock(mutex_);
        if (end_.empty())
            end_ = why;
    }
    in_.close(); // its thread ends by that, and ends the outlet
    if (around_.options.full == on_full::wait)
        out_.stop(linger_after_signal); // a push may be waiting
}

std::string relayed_stream::status(double now) {
    const outlet_stats output = out_.stats();
    const std::scoped_lock lock(mutex_);
    const double rate = account_.recent_rate_hz(now);
    around_.events.emit("status", [&](json_writer& json) {
        json.field("name", account_.name).field("uid", account_.uid).field("samples", account_.samples());
        json.field("rate_hz", rate).field("lost", account_.dropped()).field("dropped", output.dropped);
        json.field("consumers", output.current.size()).field("connected", connected());
    });
    return fmt::format("{}: {} samples, {:.0f} Hz, {} consumers, {} lost before, {} dropped", account_.name,
                       account_.samples(), rate, output.current.size(), account_.dropped(), output.dropped);
}

std::string relayed_stream::summary() {
    const outlet_stats output = out_.stats();
    const std::scoped_lock lock(mutex_);
    const auto fill = [&](json_writer& json) {
        account_.to_json(json, end_);
        json.field("origin", lineage_).begin_object("output").begin_array("endpoints");
        for (const std::string& endpoint : out_.endpoints())
            json.element(endpoint);
        json.end_array().field("sent", output.sent).field("consumers", output.consumers);
        json.field("dropped", output.dropped).field("kicked", output.kicked).end_object();
    };
    around_.events.emit("summary", fill);
    json_writer json;
    fill(json.begin_object());
    return around_.options.json
               ? json.end_object().text()
               : fmt::format("{}; to {} consumers: {} sent, {} dropped, {} kicked", account_.to_text(end_),
                             output.consumers, output.sent, output.dropped, output.kicked);
}

} // namespace rivulet::tools
