#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace rivulet::core {

/// Where the sequence numbers of an inlet change their relation to the positions of the log it reads.
struct sequence_mark {
    std::uint64_t position = 0; ///< of the log: what lies from here on
    std::uint64_t sequence = 0; ///< has sequence numbers from here on
    bool new_segment = false;   ///< and comes from another outlet, or another segment of one
};

/// Marks in the order of their positions. Threads: one adds, one takes.
class sequence_marks {
public:
    void add(const sequence_mark& mark) {
        const std::lock_guard lock(mutex_);
        if (!marks_.empty() && marks_.back().position == mark.position) { // nothing lies between them
            marks_.back() = {mark.position, mark.sequence, marks_.back().new_segment || mark.new_segment};
            return;
        }
        if (marks_.empty())
            next_.store(mark.position, std::memory_order_release);
        marks_.push_back(mark);
    }
    /// Position of the first mark not taken yet, UINT64_MAX if there is none: cheap enough for every pull.
    std::uint64_t next() const noexcept { return next_.load(std::memory_order_acquire); }
    /// The first mark; there is one.
    sequence_mark take() {
        const std::lock_guard lock(mutex_);
        const sequence_mark taken = marks_.front();
        marks_.pop_front();
        next_.store(marks_.empty() ? UINT64_MAX : marks_.front().position, std::memory_order_release);
        return taken;
    }

private:
    std::mutex mutex_;
    std::deque<sequence_mark> marks_;
    std::atomic<std::uint64_t> next_{UINT64_MAX};
};

} // namespace rivulet::core
