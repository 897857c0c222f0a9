#pragma once

#include "platform/futex.hpp"

#include <condition_variable>
#include <mutex>

namespace rivulet::platform {

/// Waits until `ready()`, looked at under the lock; false at the deadline, which time_point::max() never is.
template<class Condition>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, time_point deadline,
                Condition ready) {
    if (deadline == time_point::max()) { // the library would add to it
        changed.wait(lock, ready);
        return true;
    }
    return changed.wait_until(lock, deadline, ready);
}

} // namespace rivulet::platform
