#include "platform/log.hpp"

#include "platform/text.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace rivulet::platform {
namespace {

constexpr std::array<std::string_view, 6> level_names{"trace", "debug", "info", "warn", "error", "off"};
constexpr std::string_view program = "rivulet";
constexpr std::size_t max_text_bytes = 2000;
constexpr std::size_t max_field_bytes = 500;

constexpr std::array<spdlog::level::level_enum, 6> spdlog_levels{spdlog::level::trace, spdlog::level::debug,
                                                                 spdlog::level::info,  spdlog::level::warn,
                                                                 spdlog::level::err,   spdlog::level::off};

log_time host_clocks() {
    const double local = local_clock();
    const std::chrono::nanoseconds unix_time(local_to_unix_ns(local));
    return {std::chrono::system_clock::time_point(
                std::chrono::duration_cast<std::chrono::system_clock::duration>(unix_time)),
            local};
}

void append_json(std::string& out, std::string_view text, std::size_t limit) {
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        if (at + length > limit) {
            out += "...";
            break;
        }
        if (length == 0)
            out += "\\ufffd";
        else if (byte == '"' || byte == '\\')
            out.append("\\").append(1, text[at]);
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04x}", byte);
        else
            out += text.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    out += '"';
}

void append_value(std::string& out, std::string_view text) {
    const std::string shown = printable(text, max_field_bytes);
    const bool plain = !text.empty() && shown == text && text.find_first_of(" \"=\\") == std::string_view::npos;
    if (plain) {
        out += shown;
        return;
    }
    out += '"';
    for (const char c : shown)
        out.append(c == '"' ? "\\" : "").append(1, c);
    out += '"';
}

std::string text_line(log_level level, std::string_view event, logger::fields values, std::string_view text) {
    std::string out = fmt::format("{} {} {}: {}", to_string(level), program, event, printable(text, max_text_bytes));
    for (const log_field& field : values) {
        out.append(" ").append(field.key()).append("=");
        append_value(out, field.text());
    }
    return out;
}

/// The members of the object; the pattern adds the time and the braces.
std::string json_line(log_level level, std::string_view event, logger::fields values, std::string_view text) {
    std::string out = fmt::format(R"("level":"{}","program":"{}","event":)", to_string(level), program);
    append_json(out, event, max_field_bytes);
    out += ",\"message\":";
    append_json(out, text, max_text_bytes);
    for (const log_field& field : values) {
        out += ',';
        append_json(out, field.key(), max_field_bytes);
        out += ':';
        if (field.quoted())
            append_json(out, field.text(), max_field_bytes);
        else
            out += field.text();
    }
    return out;
}

} // namespace

std::string_view to_string(log_level level) noexcept { return level_names.at(static_cast<std::size_t>(level)); }

std::optional<log_level> parse_log_level(std::string_view text) noexcept {
    const auto* found = std::find(level_names.begin(), level_names.end(), text);
    if (found == level_names.end())
        return std::nullopt;
    return static_cast<log_level>(found - level_names.begin());
}

std::string log_field::number_text(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : "null"; // JSON has no infinities
}

logger::logger(logger_options options)
    : level_(options.level), json_(options.json),
      clock_(options.clock ? std::move(options.clock) : std::function<log_time()>(host_clocks)),
      out_(std::make_unique<spdlog::logger>(std::string(program),
                                            options.sink ? std::move(options.sink)
                                                         : std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
    out_->set_level(spdlog::level::trace);
    out_->set_pattern(json_ ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %v",
                      spdlog::pattern_time_type::utc);
}

logger::~logger() {
    try {
        write_summaries(clock_(), throttle_.take_all());
    } catch (...) { // the summaries are lost
    }
}

void logger::log(log_level level, std::string_view event, fields values, std::string_view text) noexcept {
    if (!enabled(level))
        return;
    try {
        const log_time now = clock_();
        bool admitted = true;
        std::vector<log_throttle::summary> summaries;
        {
            const std::scoped_lock lock(mutex_);
            summaries = throttle_.take_summaries(now.local);
            const std::string_view subject = values.size() == 0 ? "" : std::string_view(values.begin()->text());
            if (level >= log_level::info)
                admitted = throttle_.admit(event, subject, static_cast<std::uint8_t>(level), now.local);
        }
        write_summaries(now, summaries);
        if (admitted)
            write(now, level, event, values, text);
    } catch (...) { // the message is lost
    }
}

void logger::sweep() noexcept {
    try {
        const log_time now = clock_();
        std::vector<log_throttle::summary> summaries;
        {
            const std::scoped_lock lock(mutex_);
            summaries = throttle_.take_summaries(now.local);
        }
        write_summaries(now, summaries);
    } catch (...) { // the summaries are lost
    }
}

void logger::write(const log_time& now, log_level level, std::string_view event, fields values, std::string_view text) {
    const std::string line = json_ ? json_line(level, event, values, text) : text_line(level, event, values, text);
    out_->log(now.wall, spdlog::source_loc{}, spdlog_levels.at(static_cast<std::size_t>(level)),
              spdlog::string_view_t(line));
}

void logger::write_summaries(const log_time& now, const std::vector<log_throttle::summary>& summaries) {
    for (const log_throttle::summary& s : summaries)
        write(now, static_cast<log_level>(s.level), s.event, {{"subject", s.subject}, {"suppressed", s.suppressed}},
              fmt::format("{} similar suppressed", s.suppressed));
}

std::shared_ptr<logger> make_logger(const config::log_section& settings) {
    return std::make_shared<logger>(logger_options{.level = parse_log_level(settings.level).value_or(log_level::warn),
                                                   .json = settings.format == "json"});
}

} // namespace rivulet::platform
