#pragma once

#include "common/stop_signal.hpp"

#include <functional>
#include <thread>

namespace rivulet::tools {

/// A thread ("watcher") beside a main thread that may be blocked: calls `tick` every second and `stopped` once when a
/// stop is asked for; without a tick it sleeps until then. Joins when destroyed.
class watcher {
public:
    watcher(const stop_signal& signal, std::function<void()> tick, std::function<void()> stopped);
    ~watcher();
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

private:
    void run(const stop_signal& signal);

    std::function<void()> tick_;
    std::function<void()> stopped_;
    int finish_fd_;
    std::thread thread_;
};

} // namespace rivulet::tools
