#pragma once

#include "common/connector.hpp"
#include "common/event_log.hpp"
#include "common/stream_account.hpp"
#include "sub/options.hpp"
#include "sub/output_set.hpp"

#include <rivulet/inlet.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::tools {

/// One stream from connecting to its end: pulls samples, accounts for them, hands them to its sink.
/// Used by one thread.
class subscription {
public:
    struct surroundings {
        const sub_options& options;
        const context& ctx;
        event_log& events;
        output_set& outputs;
        std::shared_ptr<wake_event> wake; ///< set when a connection is made or given up
    };
    enum class state { connecting, open, over };

    subscription(stream_source what, const surroundings& around);

    state now_in() const noexcept { return state_; }
    /// Why it is over: "count", "ended", "lost".
    const std::string& end() const noexcept { return end_; }
    /// Whether there was a connection at any time.
    bool connected_once() const noexcept { return connected_once_; }
    bool has_count() const noexcept { return around_.options.count && account_.samples() >= *around_.options.count; }
    stream_account& account() noexcept { return account_; }
    /// While open: readable when pull has something.
    int wait_fd() const { return inlet_->wait_fd(); }

    /// Goes on to open when the connection is made. @throws what opening threw.
    void check_connection();
    static constexpr double last_patience_s = 0.1; ///< for the clock of a stream that is over
    /// Nothing more is pulled: brings the account up to date. Waits for the stream's clock until local_clock() is
    /// `until`, if it is not known yet.
    void settle(double until);
    /// The same, and writes what the sink still lacks.
    void conclude(double until);
    /// Takes what is there, waiting at most `timeout` for it; false when nothing came.
    bool pull(std::chrono::nanoseconds timeout);

private:
    void connect(std::variant<stream_source, successor> what, std::chrono::nanoseconds timeout);
    void begin_segment();
    pull_result pull_values(std::chrono::nanoseconds timeout, std::size_t most, received_chunk& chunk);
    void take(const pull_result& result, received_chunk& chunk);
    void report(const stream_account::finding& found);
    void finish(const char* why);
    void look_at_clock(double time);
    void take_clock_records();
    std::span<const std::int64_t> unix_times(std::span<const double> stamps);
    std::size_t chunk_limit() const;

    const stream_source target_;
    surroundings around_;
    state state_ = state::connecting;
    std::string end_;
    bool connected_once_ = false;
    std::optional<connector> connector_;
    std::optional<inlet> inlet_;
    stream_info info_;
    std::unique_ptr<sample_sink> sink_;
    std::string sink_path_;
    stream_account account_;
    chunk_view view_;
    std::vector<std::string> texts_;
    std::vector<double> stamps_;
    std::vector<std::int64_t> unix_ns_;
    std::uint64_t recoveries_before_ = 0; ///< of inlets that are gone
    double look_at_clock_ = 0;            ///< next, on local_clock()
    double clock_given_up_ = 0;           ///< when it counts as ours
};

} // namespace rivulet::tools
