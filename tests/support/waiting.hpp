#pragma once

#include "sanitized.hpp"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

/// Waiting for conditions that nobody announces. The limit is a watchdog: it only ends a test that would hang.
namespace rivulet::waiting {

using namespace std::chrono_literals;

inline constexpr std::chrono::seconds patience{support::sanitized ? 300 : 60};

/// True as soon as `condition()` is; false when it never is.
template<class Condition>
bool eventually(Condition condition, std::chrono::nanoseconds limit = patience) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// The kernel's one-letter state of a thread: R runs, S sleeps, T is stopped, Z is gone.
inline char thread_state(pid_t process, pid_t thread) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos ? 'Z' : text[name_end + 2];
}

/// True once the thread stays asleep: it waits for something that does not come by itself.
inline bool blocks(pid_t process, pid_t thread) {
    int asleep = 0;
    return eventually([&] {
        asleep = thread_state(process, thread) == 'S' ? asleep + 1 : 0;
        return asleep >= 20;
    });
}

} // namespace rivulet::waiting
