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

/// A stretch of an outlet's stream under one uid, whose sequence numbers follow each other: where an outlet leaves some
/// out, another stretch begins under the same uid.
struct stream_segment {
    stream_segment(std::shared_ptr<const stream_info> i, std::uint64_t position, std::uint64_t sequence)
        : info(std::move(i)), begin(position), base(position - sequence) {}

    const std::shared_ptr<const stream_info> info;
    const std::uint64_t begin; ///< position in the log of its first sample (sync: 0)
    const std::uint64_t base;  ///< position, modulo 2^64, of the sample number 0; before `begin` if it begins later
    std::atomic<std::uint64_t> end{UINT64_MAX}; ///< position after its last sample, once it has ended
};
using segment_share = std::shared_ptr<const stream_segment>;

/// The segments of an outlet, as far as the log reaches back. An outlet has one unless reset_uid was called; its log
/// goes on, so that consumers get the rest of one segment before the next. Threads: any.
///
/// A segment's end is stored before any later sample is published: who loads it after a sample sees it.
class stream_segments {
public:
    explicit stream_segments(stream_info info, std::uint64_t first_sequence = 0)
        : all_{std::make_shared<stream_segment>(std::make_shared<const stream_info>(std::move(info)), 0,
                                                first_sequence)} {}

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
    /// Where the numbers of that uid, or lineage, go on with `sequence`, or with the next one that there is. nullptr:
    /// not kept.
    segment_share find(std::string_view uid, std::uint64_t sequence) const {
        const std::lock_guard lock(mutex_);
        segment_share found;
        for (const auto& one : all_) {
            if (one->info->uid != uid && one->info->lineage() != uid)
                continue;
            found = one;
            const std::uint64_t end = one->end.load(std::memory_order_relaxed);
            if (end == UINT64_MAX || sequence <= end - one->base)
                break;
        }
        return found;
    }
    /// The first stretch under the current uid that has `position`, or something after it.
    segment_share current_at(std::uint64_t position) const {
        const std::lock_guard lock(mutex_);
        for (const auto& one : all_)
            if (position < one->end.load(std::memory_order_relaxed) && one->info->uid == all_.back()->info->uid)
                return one;
        return all_.back();
    }
    /// From `position` on there is another segment, which begins with `sequence`; those that end before `oldest` are
    /// forgotten. The producer's lock.
    void begin(stream_info info, std::uint64_t position, std::uint64_t oldest, std::uint64_t sequence = 0) {
        begin(std::make_shared<const stream_info>(std::move(info)), position, oldest, sequence);
    }
    /// The same under the same uid.
    void skip(std::uint64_t position, std::uint64_t oldest, std::uint64_t sequence) {
        begin(current()->info, position, oldest, sequence);
    }

private:
    void begin(std::shared_ptr<const stream_info> info, std::uint64_t position, std::uint64_t oldest,
               std::uint64_t sequence) {
        auto next = std::make_shared<stream_segment>(std::move(info), position, sequence);
        const std::lock_guard lock(mutex_);
        all_.back()->end.store(position, std::memory_order_seq_cst);
        if (all_.back()->begin == position)
            all_.pop_back();
        while (!all_.empty() && all_.front()->end.load(std::memory_order_relaxed) <= oldest)
            all_.pop_front();
        all_.push_back(std::move(next));
    }

    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<stream_segment>> all_; ///< in order; only the last may be empty
};

/// Brings a consumer's segment up to what lies at its cursor, and cuts the span at that segment's end. True: it has
/// come to another uid, of which it has to be told first.
inline bool follow(const stream_segments& all, segment_share& mine, const samples::log_reader& reader,
                   samples::log_span& span) {
    const std::uint64_t position = span ? span.position : reader.position();
    bool moved = false;
    if (position >= mine->end.load(std::memory_order_seq_cst)) {
        segment_share next = all.at(position);
        moved = next->info->uid != mine->info->uid;
        mine = std::move(next);
    }
    if (const std::uint64_t left = mine->end.load(std::memory_order_seq_cst) - position; span.count > left)
        span.count = static_cast<std::uint32_t>(left);
    return moved;
}

} // namespace rivulet::transport
