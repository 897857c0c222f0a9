#pragma once

#include "common/json.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace rivulet::tools {

/// What happens, as JSON lines for programs: {"event":"gap","time":"...Z",...}. Each line is written at once and whole;
/// a pipe that nobody reads never holds anybody up: its lines are dropped and counted. Threads: any.
class event_log {
public:
    /// Nowhere.
    event_log() = default;
    /// "-" is stdout. @throws std::system_error naming the path.
    explicit event_log(const std::string& path);
    ~event_log();
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;

    /// `fill` adds the event's own fields to the open object; not called where events go nowhere.
    void emit(std::string_view event, const std::function<void(json_writer&)>& fill);

    bool enabled() const noexcept { return fd_ >= 0; }
    std::uint64_t dropped() const;
    /// The reader of the pipe went away.
    bool reader_gone() const;

private:
    int fd_ = -1;
    mutable std::mutex mutex_;
    std::uint64_t dropped_ = 0;
    bool closed_ = false;
};

} // namespace rivulet::tools
