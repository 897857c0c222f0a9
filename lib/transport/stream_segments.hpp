#pragma once

#include "samples/sample_log.hpp"

#include <rivulet/stream_info.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>

namespace rivulet::transport {

/// A stretch of an outlet's stream under one uid.
struct stream_segment {
    stream_segment(std::shared_ptr<const stream_info> i, std::uint64_t b) : info(std::move(i)), base(b) {}

    const std::shared_ptr<const stream_info> info;
    const std::uint64_t base;                   ///< position in the log of its sample number 0 (sync: 0)
    std::atomic<std::uint64_t> end{UINT64_MAX}; ///< position after its last sample, once it has ended
};
using segment_share = std::shared_ptr<const stream_segment>;

/// The segments of an outlet, as far as the log reaches back. An outlet has one unless reset_uid was called; its log
/// goes on, so that consumers get the rest of one segment before the next. Threads: any.
///
/// A segment's end is stored before any later sample is published: who loads it after a sample sees it.
class stream_segments {
public:
    explicit stream_segments(stream_info info)
        : all_{std::make_shared<stream_segment>(std::make_shared<const stream_info>(std::move(info)), 0)} {}

    segment_share current() const {
        const std::lock_guard lock(mutex_);
        return all_.back();
    }
    /// The segment of a position. For one that is not kept: the oldest that is.
    segment_share at(std::uint64_t position) const {
        const std::lock_guard lock(mutex_);
        for (const auto& one : all_)
            if (position < one->end.load(std::memory_order_relaxed))
                return one;
        return all_.back();
    }
    /// nullptr: not kept.
    segment_share find(std::string_view uid) const {
        const std::lock_guard lock(mutex_);
        for (const auto& one : all_)
            if (one->info->uid == uid)
                return one;
        return nullptr;
    }
    /// From `position` on there is another segment; those that end before `oldest` are forgotten. The producer's lock.
    void begin(stream_info info, std::uint64_t position, std::uint64_t oldest) {
        auto next = std::make_shared<stream_segment>(std::make_shared<const stream_info>(std::move(info)), position);
        const std::lock_guard lock(mutex_);
        all_.back()->end.store(position, std::memory_order_seq_cst);
        std::erase_if(all_, [&](const auto& one) {
            const std::uint64_t end = one->end.load(std::memory_order_relaxed);
            return end <= oldest || end == one->base;
        });
        all_.push_back(std::move(next));
    }

private:
    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<stream_segment>> all_; ///< in order; only the last may be empty
};

/// Brings a consumer's segment up to what lies at its cursor, and cuts the span at that segment's end. True: it has
/// come to another segment, of which it has to be told first.
inline bool follow(const stream_segments& all, segment_share& mine, const samples::log_reader& reader,
                   samples::log_span& span) {
    const std::uint64_t position = span ? span.position : reader.position();
    const bool moved = position >= mine->end.load(std::memory_order_seq_cst);
    if (moved)
        mine = all.at(position);
    if (const std::uint64_t left = mine->end.load(std::memory_order_seq_cst) - position; span.count > left)
        span.count = static_cast<std::uint32_t>(left);
    return moved;
}

} // namespace rivulet::transport
