#include "common/event_log.hpp"

#include "common/log.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {

event_log::event_log(const std::string& path)
    : fd_(path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot write events to '" + path + "'");
}

event_log::~event_log() {
    if (fd_ > STDOUT_FILENO)
        close(fd_);
}

void event_log::emit(std::string_view event, const std::function<void(json_writer&)>& fill) {
    if (fd_ < 0)
        return;
    json_writer json;
    json.begin_object().field("event", event).field("time", utc_time());
    fill(json);
    const std::string line = json.end_object().text() + '\n';

    const std::scoped_lock lock(mutex_);
    if (closed_)
        return;
    std::string_view left = line;
    while (!left.empty()) {
        // Room for PIPE_BUF bytes is what POLLOUT promises; a line that was begun is finished unless that takes long.
        pollfd entry{fd_, POLLOUT, 0};
        if (poll(&entry, 1, left.size() == line.size() ? 0 : 200) == 0) {
            ++dropped_;
            return;
        }
        const auto written = write(fd_, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
        if (written >= 0)
            left.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR && errno != EAGAIN) {
            closed_ = true;
            if (errno != EPIPE)
                log_warn("events_lost", "cannot write events: {}; no more are written",
                         std::generic_category().message(errno));
            return;
        }
    }
}

std::uint64_t event_log::dropped() const {
    const std::scoped_lock lock(mutex_);
    return dropped_;
}

bool event_log::reader_gone() const {
    pollfd entry{fd_, 0, 0};
    return fd_ >= 0 && poll(&entry, 1, 0) == 1 && (entry.revents & POLLERR) != 0;
}

} // namespace rivulet::tools
