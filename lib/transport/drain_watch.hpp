#pragma once

#include "platform/futex.hpp"

#include <atomic>
#include <cstdint>

namespace rivulet::transport {

/// Where somebody waits until all links of an outlet are drained. Links tell of every change that may have made them
/// so; that costs one load while nobody waits. Outlives the links, as what ZeroMQ releases late tells of it too.
/// Threads: any.
class drain_watch {
public:
    bool awaited() const noexcept { return waiting_.load(std::memory_order_seq_cst) != 0; }

    /// Something may be drained now. After the change is visible to outlet_link::drained().
    void changed() noexcept {
        if (!awaited())
            return;
        changes_.fetch_add(1, std::memory_order_seq_cst);
        platform::futex_wake_all(changes_);
    }

    /// Sleeps until `over()` is true or the deadline; looks again after each change.
    template<class Condition>
    void wait(Condition over, platform::time_point deadline) {
        waiting_.fetch_add(1, std::memory_order_seq_cst);
        for (;;) {
            const std::uint32_t seen =
                changes_.load(std::memory_order_seq_cst); // before looking, or a change is missed
            if (over() || platform::clock::now() >= deadline)
                break;
            platform::futex_wait(changes_, seen, deadline);
        }
        waiting_.fetch_sub(1, std::memory_order_seq_cst);
    }

private:
    std::atomic<std::uint32_t> waiting_{0};
    std::atomic<std::uint32_t> changes_{0};
};

} // namespace rivulet::transport
