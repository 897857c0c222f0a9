#include "common/log.hpp"

#include "common/json.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>

namespace rivulet::tools {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::array<std::string_view, 6> level_names = {"trace", "debug", "info", "warn", "error", "off"};
constexpr unsigned burst = 5; // messages of one event in a second

struct event_rate {
    clock::time_point since;
    unsigned written = 0;
    unsigned withheld = 0;
};

struct log_state {
    std::mutex mutex;
    std::string program = "rivulet";
    log_level level = log_level::info;
    bool json = false;
    std::string status;
    std::map<std::string, event_rate, std::less<>> rates;
};

log_state& state() {
    static log_state instance;
    return instance;
}

void put(std::string_view text) {
    while (!text.empty()) {
        const auto written = write(STDERR_FILENO, text.data(), text.size());
        if (written <= 0)
            return; // nowhere to complain
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// Messages withheld since the last one written; nothing when this one is to be withheld too.
std::optional<unsigned> admit(log_state& log, std::string_view event) {
    auto found = log.rates.find(event);
    if (found == log.rates.end())
        found = log.rates.emplace(event, event_rate{clock::now(), 0, 0}).first;
    event_rate& rate = found->second;
    if (clock::now() - rate.since >= std::chrono::seconds(1))
        rate = {clock::now(), 0, rate.withheld};
    if (rate.written == burst) {
        ++rate.withheld;
        return std::nullopt;
    }
    ++rate.written;
    return std::exchange(rate.withheld, 0);
}

} // namespace

void configure_log(std::string_view program, std::string_view level, bool json) {
    log_state& log = state();
    const std::scoped_lock lock(log.mutex);
    log.program = program;
    log.json = json;
    for (std::size_t i = 0; i < level_names.size(); ++i)
        if (level_names[i] == level)
            log.level = static_cast<log_level>(i);
}

bool log_enabled(log_level level) noexcept { return level >= state().level; }

std::string utc_time() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ms % 1000);
}

void write_log(log_level level, std::string_view event, std::string_view message) {
    log_state& log = state();
    const std::scoped_lock lock(log.mutex);
    if (level < log.level)
        return;
    const auto withheld = admit(log, event);
    if (!withheld)
        return;
    std::string line;
    if (log.json) {
        json_writer json;
        json.begin_object().field("time", utc_time()).field("level", level_names[static_cast<std::size_t>(level)]);
        json.field("program", log.program).field("event", event).field("message", message);
        if (*withheld > 0)
            json.field("withheld", *withheld);
        line = json.end_object().text() + '\n';
    } else {
        line = fmt::format("{} {} {} {}: {}", utc_time(), level_names[static_cast<std::size_t>(level)], log.program,
                           event, message);
        line += *withheld > 0 ? fmt::format(" ({} like it were withheld)\n", *withheld) : "\n";
    }
    if (!log.status.empty())
        line = "\r\x1b[K" + line + log.status;
    put(line);
}

bool stderr_is_terminal() {
    static const bool terminal = isatty(STDERR_FILENO) == 1;
    return terminal;
}

void show_status(std::string_view text) {
    if (!stderr_is_terminal())
        return;
    log_state& log = state();
    const std::scoped_lock lock(log.mutex);
    log.status = text;
    put("\r\x1b[K" + log.status);
}

void clear_status() {
    log_state& log = state();
    const std::scoped_lock lock(log.mutex);
    if (!log.status.empty())
        put("\r\x1b[K");
    log.status.clear();
}

} // namespace rivulet::tools
