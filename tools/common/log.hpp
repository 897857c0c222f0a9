#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

/// The tools' own log on stderr: one line a message with time (RFC 3339, UTC), level, a stable event name, text.
namespace rivulet::tools {

enum class log_level { trace, debug, info, warn, error, off };

/// @param level trace|debug|info|warn|error|off. @param json one JSON object a line instead of text.
void configure_log(std::string_view program, std::string_view level, bool json);

/// More than five messages of one event within a second are counted instead of written; the next one that is written
/// says how many there were. Threads: any.
void write_log(log_level level, std::string_view event, std::string_view message);
bool log_enabled(log_level level) noexcept;

template<class... Args>
void log_info(std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(log_level::info))
        write_log(log_level::info, event, fmt::format(format, std::forward<Args>(args)...));
}
template<class... Args>
void log_warn(std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(log_level::warn))
        write_log(log_level::warn, event, fmt::format(format, std::forward<Args>(args)...));
}

/// "2026-01-31T12:00:00.123Z", now.
std::string utc_time();

/// Text that overwrites itself on a terminal's line; nothing where stderr is no terminal. Log lines go above it.
void show_status(std::string_view text);
/// Removes the status line.
void clear_status();
bool stderr_is_terminal();

} // namespace rivulet::tools
