#pragma once

#include "platform/futex.hpp"
#include "samples/segment.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace rivulet::samples {

/// What a log holds and how much of it.
struct log_options {
    channel_format format = channel_format::float32;
    std::size_t channels = 1;
    double rate_hz = 0;
    std::size_t bytes = 16u << 20; ///< history kept, stamps included; at least two segments
    bool history = true;           ///< false: what all readers have read is let go of as room is needed
};

/// Somebody who sleeps until there is more to read. wake() is called by the producer and must not block for long, nor
/// add or remove waiters; it may read the log and arm again.
class log_waiter {
public:
    virtual ~log_waiter() = default;
    virtual void wake() noexcept = 0;

private:
    friend class sample_log;
    std::atomic<bool> armed_{false};
};

/// Consecutive samples of one segment, as they lie there. Valid while the segment is referenced.
struct log_span {
    segment* seg = nullptr;
    std::uint64_t position = 0; ///< of the first sample
    std::uint32_t index = 0;    ///< of the first sample in the segment
    std::uint32_t count = 0;    ///< 0 = nothing there

    explicit operator bool() const noexcept { return count != 0; }
    const double* stamps() const noexcept { return seg->stamps() + index; }
    const std::byte* samples() const noexcept { return seg->samples() + index * seg->shape().sample_bytes; }
    std::size_t sample_bytes() const noexcept { return count * seg->shape().sample_bytes; }
    /// Variable-length formats: count * channels + 1 end offsets into text(); not rebased.
    std::span<const std::uint32_t> offsets() const noexcept;
    /// The text that these offsets enclose.
    std::span<const std::byte> text() const noexcept;
    /// The stamps as runs, when runs cover all of them and fit; else nothing.
    std::span<const wire::stamp_run> collect_runs(std::span<wire::stamp_run> store) const noexcept;
};

class log_reader;

/// The sample log: columnar, segmented, append-only, one producer, many readers. Positions count samples from 0.
///
/// Invariants
///  1. Only the producer writes: bytes of a segment, head_, and the newest segment's fill.
///  2. Samples below head_ are complete and immutable. head_ is stored (seq_cst) after they are written; a reader loads
///     it before it reads them.
///  3. window_ holds consecutive segments; its last one is written to. It changes under mutex_ only, and so does every
///     reader's move into a segment; hence a reader either holds a reference or has fallen out of the window.
///  4. Sleeping: a reader sets armed_, then idle_, then loads head_ again; the producer stores head_, then loads idle_.
///     All four are seq_cst, so one of the two sees the other: no wake-up is lost, and a busy log costs the producer
///     no system call.
///     armed_ is set before idle_, and the waking producer clears idle_ before it looks at armed_: who is missed by
///     this round leaves idle_ set for the next.
///  5. Room: a refused producer stores room_from_, then looks at the holding readers' positions again; a holding reader
///     stores its position, then loads room_from_. All seq_cst, so one of the two sees the other: whoever makes room
///     says so, at the very step that makes it.
///  6. Memory: the window's segments sum up to at most `bytes` (or two segments, if those are larger), each reader
///  keeps at most one more alive, and whoever shares a segment beyond that counts it himself.
///  7. No segment but the newest is empty: a segment is opened for something that is then written to it.
class sample_log {
public:
    explicit sample_log(const log_options& options);
    ~sample_log();
    sample_log(const sample_log&) = delete;
    sample_log& operator=(const sample_log&) = delete;

    const log_options& options() const noexcept { return options_; }
    bool variable() const noexcept { return shape_.text_bytes != 0; }

    // --- producer -----------------------------------------------------------------------------------------------

    /// May the log drop samples that a holding reader has not read yet?
    enum class overflow : std::uint8_t { drop_oldest, refuse };

    struct room {
        std::byte* samples = nullptr;
        double* stamps = nullptr;
        std::uint32_t count = 0; ///< 0 = refused
    };
    /// Contiguous room for at least one sample. Fixed-size formats.
    room reserve(overflow policy) {
        if (free_ == 0 && !open_segment(policy, 0)) [[unlikely]]
            return {};
        return {sample_at_, stamp_at_, free_};
    }
    /// Publishes the first `count` samples of the room, with their stamps. `run`, if given, tells that these stamps are
    /// run_stamp(*run, 0), (*run, 1), ...; its own count does not matter.
    void commit(std::uint32_t count, const wire::stamp_run* run = nullptr) {
        if (run)
            note_run(count, *run);
        sample_at_ += count * shape_.sample_bytes;
        stamp_at_ += count;
        free_ -= count;
        publish(next_ + count);
    }

    /// Appends and publishes as many whole samples as fit into one segment; `values` has samples x channels elements,
    /// at least one sample, each with less than 4 GiB of text. `run` as in commit.
    /// @return samples appended; 0 = refused. Variable-length formats.
    std::uint32_t append_text(std::span<const std::string_view> values, const double* stamps, overflow policy,
                              const wire::stamp_run* run = nullptr);

    /// No more samples will come; wakes everybody.
    void finish();

    /// After a refusal: waits until another try may succeed; false at the deadline or when interrupted.
    bool wait_for_room(platform::time_point deadline);
    /// Ends this and all later waits. Any thread.
    void interrupt_wait();
    /// Readers that hold the producer up are no longer waited for until they have caught up. @return how many.
    std::size_t release_laggards();
    /// Called under the log's mutex, by the reader's thread, when it makes room after a refusal; must only notify.
    void on_room(std::function<void()> callback);

    /// Called by the thread of an announcing reader that has read up to what announce_read() named, once for each call
    /// of that; must only notify. To be set before there are readers.
    void on_read(std::function<void()> callback) { on_read_ = std::move(callback); }
    /// Any thread; look at the readers again afterwards, as they may have got there without seeing it.
    void announce_read(std::uint64_t position) noexcept { read_to_.store(position, std::memory_order_seq_cst); }

    // --- readers ------------------------------------------------------------------------------------------------

    std::uint64_t head() const noexcept { return head_.load(std::memory_order_seq_cst); }
    bool finished() const noexcept { return finished_.load(std::memory_order_seq_cst); }
    /// The oldest position kept.
    std::uint64_t oldest() const;
    /// The oldest position kept whose stamp is at least `stamp`; head() when there is none. Stamps may be in any order.
    /// Cost: looks at stamps one by one, holding nobody up.
    std::uint64_t position_since(double stamp) const;

    void add_waiter(log_waiter& waiter);
    /// When it returns, wake() is not running and will not be called again.
    void remove_waiter(log_waiter& waiter);
    /// True: the waiter will be woken by what comes after `position`. False: there is something already.
    bool arm(log_waiter& waiter, std::uint64_t position) noexcept;
    void disarm(log_waiter& waiter) noexcept { waiter.armed_.store(false, std::memory_order_seq_cst); }

private:
    friend class log_reader;

    static constexpr std::uint64_t no_room_wanted = UINT64_MAX;
    static constexpr std::uint64_t nothing_awaited = UINT64_MAX;

    bool open_segment(overflow policy, std::size_t text_needed);
    void seal_current_locked() noexcept;
    segment_ref take_front_locked() noexcept;
    bool front_is_read_locked() const noexcept;
    void note_run(std::uint32_t count, const wire::stamp_run& run) noexcept;
    void publish(std::uint64_t head) noexcept {
        next_ = head;
        head_.store(head, std::memory_order_seq_cst);
        if (idle_.load(std::memory_order_seq_cst)) [[unlikely]]
            wake_sleepers();
    }
    void wake_sleepers() noexcept;
    bool may_drop_front_locked() const noexcept;
    bool room_or_announce_locked() noexcept;
    void offer_room_locked();
    void offer_room();
    void tell_read() noexcept;
    const segment_ref& segment_of_locked(std::uint64_t position) const noexcept;
    void enter(log_reader& reader);

    const log_options options_;
    const segment_shape shape_;

    // Producer only, on its own cache line: readers never slow a push down here.
    alignas(64) std::byte* sample_at_ = nullptr;
    double* stamp_at_ = nullptr;
    std::uint32_t free_ = 0; ///< samples that the current segment still takes; 0 once it is sealed
    std::uint64_t next_ = 0; ///< head_, as the producer knows it
    std::size_t text_used_ = 0;
    segment* current_ = nullptr; ///< the window's last

    alignas(64) std::atomic<std::uint64_t> head_{0};
    alignas(64) std::atomic<bool> idle_{false};
    std::atomic<bool> finished_{false};
    std::atomic<std::uint64_t> room_from_{no_room_wanted}; ///< a holding reader that gets here may make room
    std::atomic<std::uint64_t> read_to_{nothing_awaited};  ///< an announcing reader that gets here calls on_read_

    mutable std::mutex mutex_; ///< window_, readers_ and their segments, window_bytes_, room waiting
    std::deque<segment_ref> window_;
    std::size_t window_bytes_ = 0;
    std::vector<log_reader*> readers_;
    std::condition_variable room_;
    std::function<void()> on_room_;
    bool interrupted_ = false;
    std::function<void()> on_read_;

    std::mutex waiters_mutex_;
    std::vector<log_waiter*> waiters_;
};

/// A cursor of one reader. One thread at a time; the log outlives it.
class log_reader {
public:
    /// @param holds whether overflow::refuse respects it. @param announces whether it serves sample_log::on_read.
    log_reader(std::shared_ptr<sample_log> log, std::uint64_t position, bool holds, bool announces = false);
    ~log_reader();
    log_reader(const log_reader&) = delete;
    log_reader& operator=(const log_reader&) = delete;

    /// What lies at the cursor, at most `max` samples; jumps forward when it fell out of the window (see take_lost).
    log_span peek(std::uint32_t max = UINT32_MAX);
    void advance(std::uint32_t count) noexcept { move_to(position() + count); }
    /// Moves forward without counting a loss.
    void skip_to(std::uint64_t position) noexcept {
        if (position > this->position())
            move_to(position);
    }

    std::uint64_t position() const noexcept { return position_.load(std::memory_order_relaxed); }
    /// Samples between the cursor and the head, those lost included. Any thread.
    std::uint64_t lag() const noexcept;
    /// Samples jumped over since the last call.
    std::uint64_t take_lost() noexcept { return std::exchange(lost_, 0); }
    /// Samples jumped over since the reader was made. Any thread.
    std::uint64_t total_lost() const noexcept { return total_lost_.load(std::memory_order_relaxed); }
    /// Samples ahead of the cursor that are gone: a later peek will jump over them and count them as lost. Any thread.
    std::uint64_t out_of_window() const;
    /// All that it lost, whether it has noticed yet or not: a reader that does not read never would. Any thread.
    std::uint64_t dropped() const {
        const std::uint64_t noticed = total_lost(); // first: what is noticed in between is not to count twice
        return noticed + out_of_window();
    }
    /// The segment of the last peek, shared.
    segment_ref share_segment() const noexcept { return segment_; }
    sample_log& log() const noexcept { return *log_; }
    const std::shared_ptr<sample_log>& shared_log() const noexcept { return log_; }

private:
    friend class sample_log;
    void move_to(std::uint64_t position) noexcept {
        if (!holds_ && !announces_)
            return position_.store(position, std::memory_order_release);
        position_.store(position, std::memory_order_seq_cst);
        if (announces_ && position >= log_->read_to_.load(std::memory_order_seq_cst)) [[unlikely]]
            log_->tell_read();
        if (!holds_)
            return;
        // A laggard that caught up is waited for again, also when more comes before its next peek.
        if (!waited_for_.load(std::memory_order_relaxed) && position == log_->head()) [[unlikely]]
            waited_for_.store(true, std::memory_order_relaxed);
        if (position >= log_->room_from_.load(std::memory_order_seq_cst)) [[unlikely]]
            log_->offer_room();
    }

    std::shared_ptr<sample_log> log_;
    std::atomic<std::uint64_t> position_;
    std::uint64_t known_head_ = 0;
    std::uint64_t lost_ = 0;
    std::atomic<std::uint64_t> total_lost_{0};
    const bool holds_;
    const bool announces_;
    std::atomic<bool> waited_for_; ///< holds_, until it was released as a laggard
    segment_ref segment_;          ///< written by the reader's thread under the log's mutex
};

} // namespace rivulet::samples
