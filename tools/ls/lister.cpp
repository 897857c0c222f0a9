#include "ls/lister.hpp"

#include "common/exit_code.hpp"
#include "common/output_file.hpp"
#include "common/stop_signal.hpp"
#include "ls/table.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/remote.hpp>

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <poll.h>

namespace rivulet::tools {
namespace {

constexpr double default_timeout_s = 2;
constexpr auto answer_patience = std::chrono::seconds(1); ///< for what is asked of all streams at once
constexpr double stats_interval_s = 1;                    ///< of a live view
constexpr const char* clear_screen = "\033[H\033[2J";

/// --quiet is about warnings, too.
common_options with_quiet(const ls_options& options) {
    common_options out = options.common;
    if (options.quiet && !out.log_level)
        out.log_level = "error";
    return out;
}

class lister {
public:
    explicit lister(const ls_options& options)
        : options_(options), ctx_(make_context(with_quiet(options), "stream-ls")), out_("-", signal_),
          search_(options.wanted.selector(), ctx_), deadline_(deadline()) {}

    int run() {
        while (!signal_.requested() && local_clock() < deadline_ && !out_.reader_gone()) {
            const auto events = search_.take_events();
            if (options_.watch)
                show_changes(events);
            else if (complete())
                break;
            wait();
        }
        if (options_.watch)
            return exit_done;
        const auto found = search_.streams();
        if (!options_.quiet && !found.empty())
            show(found);
        if (found.size() >= options_.minimum.value_or(1) || signal_.requested())
            return exit_done;
        if (!options_.quiet)
            fmt::print(stderr, "stream-ls: {}\n",
                       not_found_message(options_.wanted, options_.minimum.value_or(1), search_, local_clock() - began_,
                                         ctx_));
        return exit_not_connected;
    }

private:
    double deadline() const {
        if (!options_.timeout_s && options_.watch)
            return std::numeric_limits<double>::infinity();
        const double seconds = options_.timeout_s.value_or(default_timeout_s);
        return seconds == 0 ? std::numeric_limits<double>::infinity() : began_ + seconds;
    }

    bool complete() const {
        return options_.minimum ? search_.streams().size() >= *options_.minimum : search_.settled();
    }

    void wait() {
        pollfd fds[] = {{search_.wait_fd(), POLLIN, 0}, {signal_.fd(), POLLIN, 0}, {1, 0, 0}}; // a lost reader is told
        const long long left = nanoseconds_until(std::min(deadline_, next_stats_));
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(fds, std::size(fds), &timeout, nullptr);
    }

    /// The streams with what their outlets say when asked.
    std::vector<listed_stream> asked(const std::vector<found_stream>& streams) const {
        std::vector<listed_stream> out(streams.size());
        const auto whole = shown_.metadata ? ask_info(streams, answer_patience, ctx_)
                                           : std::vector<std::optional<stream_info>>(streams.size());
        const auto stats = shown_.stats ? ask_stats(streams, answer_patience, ctx_)
                                        : std::vector<std::optional<outlet_stats>>(streams.size());
        for (std::size_t i = 0; i < streams.size(); ++i)
            out[i] = {streams[i], whole[i], stats[i]};
        return out;
    }

    /// With what discovery has counted by now.
    details shown() const {
        details out = shown_;
        out.discovery = ctx_.discovery();
        return out;
    }

    void show(const std::vector<found_stream>& streams) {
        if (!options_.json) {
            out_.buffer() += to_table(asked(streams), shown());
        } else {
            for (const listed_stream& stream : asked(streams)) {
                json_writer json;
                to_json(stream, shown(), json.begin_object());
                out_.buffer() += json.end_object().text() + '\n';
            }
        }
        out_.flush();
    }

    void show_changes(const std::vector<stream_event>& events) {
        const bool live = !options_.json && out_.is_terminal();
        const bool stats_are_due = local_clock() >= next_stats_;
        if (live && (first_ || !events.empty() || stats_are_due))
            out_.buffer() += clear_screen + to_table(asked(search_.streams()), shown());
        if (live && shown_.stats)
            next_stats_ = local_clock() + stats_interval_s;
        first_ = false;
        for (const stream_event& event : events) {
            constexpr const char* names[] = {"appeared", "changed", "disappeared"};
            const char* const name = names[static_cast<std::size_t>(event.what)];
            if (options_.json) {
                const bool there = event.what != stream_event::kind::disappeared;
                json_writer json;
                to_json(there ? asked({event.stream}).front() : listed_stream{event.stream},
                        there ? shown() : details{}, json.begin_object().field("event", name));
                out_.buffer() += json.end_object().text() + '\n';
            } else if (!live) {
                out_.buffer() += fmt::format("{} {}\n", name, to_line(event.stream));
            }
        }
        out_.flush();
    }

    const ls_options& options_;
    stop_signal signal_;
    context ctx_;
    output_file out_;
    resolver search_;
    const double began_ = local_clock();
    const double deadline_;
    const details shown_{options_.metadata, options_.stats, {}};
    double next_stats_ = std::numeric_limits<double>::infinity();
    bool first_ = true;
};

} // namespace

int list(const ls_options& options) { return lister(options).run(); }

} // namespace rivulet::tools
