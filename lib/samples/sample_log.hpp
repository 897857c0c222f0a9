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
///  5. Memory: the window's segments sum up to at most `bytes` (at least two segments), each reader keeps at most one
///     more alive, and whoever shares a segment beyond that counts it himself.
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
    room reserve(overflow policy);
    /// Publishes `count` samples written to the room. `run`, if given, tells that they are regular.
    void commit(std::uint32_t count, const wire::stamp_run* run = nullptr);

    /// Appends and publishes as many whole samples as fit into one segment; `values` has samples x channels elements.
    /// @return samples appended; 0 = refused. Variable-length formats.
    std::uint32_t append_text(std::span<const std::string_view> values, const double* stamps, overflow policy,
                              const wire::stamp_run* run = nullptr);

    /// No more samples will come; wakes everybody.
    void finish();

    /// Waits until reserve(refuse) may succeed; false at the deadline or when interrupted.
    bool wait_for_room(platform::time_point deadline);
    void interrupt_wait();
    /// Readers that hold the producer up are no longer waited for until they have caught up. @return how many.
    std::size_t release_laggards();
    /// Called under the log's mutex when a reader makes room after a refusal; must only notify.
    void on_room(std::function<void()> callback);

    // --- readers ------------------------------------------------------------------------------------------------

    std::uint64_t head() const noexcept { return head_.load(std::memory_order_seq_cst); }
    bool finished() const noexcept { return finished_.load(std::memory_order_seq_cst); }
    /// The oldest position kept.
    std::uint64_t oldest() const;
    /// The oldest position kept whose stamp is at least `stamp`; head() when there is none.
    std::uint64_t position_since(double stamp) const;

    void add_waiter(log_waiter& waiter);
    /// When it returns, wake() is not running and will not be called again.
    void remove_waiter(log_waiter& waiter);
    /// True: the waiter will be woken by what comes after `position`. False: there is something already.
    bool arm(log_waiter& waiter, std::uint64_t position) noexcept;
    void disarm(log_waiter& waiter) noexcept { waiter.armed_.store(false, std::memory_order_seq_cst); }

private:
    friend class log_reader;

    segment* next_segment(overflow policy, std::size_t text_needed);
    bool may_drop_front_locked() const noexcept;
    bool room_possible_locked() const noexcept;
    void publish(std::uint64_t head) noexcept {
        head_.store(head, std::memory_order_seq_cst);
        if (idle_.load(std::memory_order_seq_cst))
            wake_sleepers();
    }
    void wake_sleepers() noexcept;
    std::size_t charge(const segment& s) const noexcept;
    segment_ref enter(log_reader& reader);

    const log_options options_;
    segment_shape shape_;

    alignas(64) std::atomic<std::uint64_t> head_{0};
    segment* current_ = nullptr; ///< producer only
    alignas(64) std::atomic<bool> idle_{false};
    std::atomic<bool> finished_{false};

    mutable std::mutex mutex_; ///< window_, readers_, sealed_bytes_, room waiting
    std::deque<segment_ref> window_;
    std::size_t sealed_bytes_ = 0;
    std::vector<log_reader*> readers_;
    std::condition_variable room_;
    std::function<void()> on_room_;
    bool room_wanted_ = false;
    bool interrupted_ = false;

    std::mutex waiters_mutex_;
    std::vector<log_waiter*> waiters_;
};

/// A cursor of one reader. One thread at a time; the log outlives it.
class log_reader {
public:
    /// @param holds whether overflow::refuse respects it.
    log_reader(std::shared_ptr<sample_log> log, std::uint64_t position, bool holds);
    ~log_reader();
    log_reader(const log_reader&) = delete;
    log_reader& operator=(const log_reader&) = delete;

    /// What lies at the cursor, at most `max` samples; jumps forward when it fell out of the window (see take_lost).
    log_span peek(std::uint32_t max = UINT32_MAX);
    void advance(std::uint32_t count) noexcept {
        position_.store(position_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    }
    /// Moves forward without counting a loss.
    void skip_to(std::uint64_t position) noexcept;

    std::uint64_t position() const noexcept { return position_.load(std::memory_order_relaxed); }
    /// Samples between the cursor and the head, those lost included.
    std::uint64_t lag() const noexcept { return log_->head() - position(); }
    /// Samples jumped over since the last call.
    std::uint64_t take_lost() noexcept { return std::exchange(lost_, 0); }
    /// Samples jumped over since the reader was made. Any thread.
    std::uint64_t total_lost() const noexcept { return total_lost_.load(std::memory_order_relaxed); }
    /// Samples behind the cursor that the log no longer has: a later peek will jump over them. Any thread.
    std::uint64_t out_of_window() const;
    /// The segment of the last peek, shared.
    segment_ref share_segment() const noexcept { return segment_; }
    sample_log& log() const noexcept { return *log_; }
    const std::shared_ptr<sample_log>& shared_log() const noexcept { return log_; }

private:
    friend class sample_log;
    std::shared_ptr<sample_log> log_;
    std::atomic<std::uint64_t> position_;
    std::uint64_t known_head_ = 0;
    std::uint64_t lost_ = 0;
    std::atomic<std::uint64_t> total_lost_{0};
    const bool holds_;
    std::atomic<bool> waited_for_; ///< holds_, until it was released as a laggard
    segment_ref segment_;
};

} // namespace rivulet::samples
