#pragma once

#include "platform/log_throttle.hpp"

#include <rivulet/config.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
} // namespace spdlog

namespace rivulet::platform {

enum class log_level : std::uint8_t { trace, debug, info, warn, error, off };
std::string_view to_string(log_level level) noexcept;
std::optional<log_level> parse_log_level(std::string_view text) noexcept;

/// One named value of a message. Numbers stay numbers in JSON. Keys are names in code, other than time, level, program,
/// event, message and suppressed.
class log_field {
public:
    log_field(std::string_view key, std::string_view text) : key_(key), text_(text), quoted_(true) {}
    template<class T>
    requires(std::integral<T> || std::floating_point<T>) log_field(std::string_view key, T value)
        : key_(key), text_(number(value)), quoted_(false) {}

    const std::string& key() const noexcept { return key_; }
    const std::string& text() const noexcept { return text_; }
    bool quoted() const noexcept { return quoted_; } ///< text, not a number or truth value

private:
    template<class T>
    static std::string number(T value) {
        if constexpr (std::same_as<T, bool>)
            return value ? "true" : "false";
        else if constexpr (std::floating_point<T>)
            return number_text(static_cast<double>(value));
        else
            return std::to_string(value);
    }
    static std::string number_text(double value);

    std::string key_;
    std::string text_;
    bool quoted_;
};

/// Both clocks at one instant.
struct log_time {
    std::chrono::system_clock::time_point wall;
    double local; ///< seconds on local_clock()
};

struct logger_options {
    log_level level = log_level::warn; ///< what is less is not written
    bool json = false;
    std::shared_ptr<spdlog::sinks::sink> sink{}; ///< null: standard error; gets a pattern of ours
    std::function<log_time()> clock{};           ///< empty: the clocks of this host
};

/// Writes one line a message: RFC 3339 UTC time with milliseconds, level, a stable event name, text for people, fields.
///   2026-01-31T12:00:00.123Z warn rivulet consumer_kicked: took nothing for 15 s stream=EEG endpoint=zmq+tcp://h:5000
///   {"time":"2026-01-31T12:00:00.123Z","level":"warn","program":"rivulet","event":"consumer_kicked",
///    "message":"took nothing for 15 s","stream":"EEG","endpoint":"zmq+tcp://h:5000"}            (on one line)
/// From info on, repeats of the same event and subject are limited (log_throttle.hpp) and summed up in one line with
/// the field `suppressed`; the subject is the value of the first field. A context owns one, whatever it makes shares
/// it. Threads: any. Nothing here throws; what cannot be written is lost.
class logger {
public:
    explicit logger(logger_options options = {});
    /// Writes the summaries that are due yet.
    ~logger();
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;

    bool enabled(log_level level) const noexcept { return level >= level_ && level != log_level::off; }

    using fields = std::initializer_list<log_field>;
    void log(log_level level, std::string_view event, fields values, std::string_view text) noexcept;
    void debug(std::string_view event, fields values, std::string_view text) noexcept {
        log(log_level::debug, event, values, text);
    }
    void info(std::string_view event, fields values, std::string_view text) noexcept {
        log(log_level::info, event, values, text);
    }
    void warn(std::string_view event, fields values, std::string_view text) noexcept {
        log(log_level::warn, event, values, text);
    }
    void error(std::string_view event, fields values, std::string_view text) noexcept {
        log(log_level::error, event, values, text);
    }

    /// Writes the summaries of repeats that have stopped; log() does so too. For a thread that wakes up anyway.
    void sweep() noexcept;

private:
    void write(const log_time& now, log_level level, std::string_view event, fields values, std::string_view text);
    void write_summaries(const log_time& now, const std::vector<log_throttle::summary>& summaries);

    const log_level level_;
    const bool json_;
    const std::function<log_time()> clock_;
    const std::unique_ptr<spdlog::logger> out_;
    std::mutex mutex_; ///< of throttle_
    log_throttle throttle_;
};

/// As [log] says; level auto is warn.
std::shared_ptr<logger> make_logger(const config::log_section& settings);

} // namespace rivulet::platform
