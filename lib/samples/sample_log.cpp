#include "samples/sample_log.hpp"

#include "platform/wait.hpp"

#include <algorithm>
#include <cstring>

namespace rivulet::samples {
namespace {

constexpr std::size_t max_segment_bytes = 1u << 20;
constexpr std::size_t min_segment_bytes = 4096;
constexpr std::size_t segments_per_window = 8;
constexpr std::size_t padding_bytes = 512;    ///< of a block, at most
constexpr std::uint32_t samples_per_run = 16; ///< with shorter runs a column costs a frame hardly more
constexpr std::uint32_t max_runs = 4096;

/// A block as large as an eighth of the log, within limits; but at least one sample.
segment_shape shape_for(const log_options& o) {
    segment_shape shape;
    shape.channels = o.channels;
    const std::size_t block = std::clamp(o.bytes / segments_per_window, min_segment_bytes, max_segment_bytes);
    std::size_t room = block - padding_bytes;
    std::size_t sample = sizeof(double) + (sizeof(segment_run) + samples_per_run - 1) / samples_per_run;
    if (is_fixed_size(o.format)) {
        shape.sample_bytes = value_bytes(o.format) * o.channels;
        sample += shape.sample_bytes;
    } else {
        shape.text_bytes = room / 3 * 2;
        room -= shape.text_bytes;
        sample += sizeof(std::uint32_t) * o.channels;
    }
    shape.samples = static_cast<std::uint32_t>(std::max<std::size_t>(1, room / sample));
    shape.runs = std::min(max_runs, shape.samples / samples_per_run + 1);
    return shape;
}

} // namespace

// --- log_span -------------------------------------------------------------------------------------------------------

std::span<const std::uint32_t> log_span::offsets() const noexcept {
    const std::size_t channels = seg->shape().channels;
    return {seg->offsets() + index * channels, count * channels + 1};
}

std::span<const std::byte> log_span::text() const noexcept {
    const auto ends = offsets();
    return {seg->samples() + ends.front(), ends.back() - ends.front()};
}

std::span<const wire::stamp_run> log_span::collect_runs(std::span<wire::stamp_run> store) const noexcept {
    const segment_run* begin = seg->runs();
    const segment_run* end = begin + seg->run_count.load(std::memory_order_acquire);
    const std::uint32_t last = index + count;
    const segment_run* run =
        std::partition_point(begin, end, [&](const segment_run& r) { return r.first + r.run.count <= index; });
    std::size_t used = 0;
    for (std::uint32_t at = index; at < last; ++run) {
        if (run == end || run->first > at || used == store.size())
            return {};
        const std::uint32_t skipped = at - run->first;
        const std::uint32_t taken = std::min(run->run.count - skipped, last - at);
        store[used++] = {taken, run->run.ahead - skipped, run->run.base};
        at += taken;
    }
    return store.first(used);
}

// --- producer -------------------------------------------------------------------------------------------------------

sample_log::sample_log(const log_options& options) : options_(options), shape_(shape_for(options)) {}

sample_log::~sample_log() = default;

/// Dropping the oldest segment is no loss for anybody whom the producer waits for.
bool sample_log::may_drop_front_locked() const noexcept {
    const std::uint64_t end = window_.front()->sealed_at.load(std::memory_order_relaxed);
    return std::ranges::none_of(readers_, [&](const log_reader* r) {
        return r->waited_for_.load(std::memory_order_relaxed) && r->position_.load(std::memory_order_seq_cst) < end;
    });
}

void sample_log::seal_current_locked() noexcept {
    if (!current_ || current_->sealed_at.load(std::memory_order_relaxed) != segment::open)
        return;
    current_->sealed_at.store(next_, std::memory_order_release);
    free_ = 0;
}

segment_ref sample_log::take_front_locked() noexcept {
    segment_ref front = std::move(window_.front());
    window_.pop_front();
    window_bytes_ -= front->block_bytes();
    return front;
}

/// Nobody wants the oldest segment any more.
bool sample_log::front_is_read_locked() const noexcept {
    if (options_.history || readers_.empty())
        return false;
    const std::uint64_t end = window_.front()->sealed_at.load(std::memory_order_relaxed);
    return std::ranges::all_of(
        readers_, [&](const log_reader* r) { return r->position_.load(std::memory_order_seq_cst) >= end; });
}

/// Seals the current segment and opens the next; false when that would drop what must not be dropped.
bool sample_log::open_segment(overflow policy, std::size_t text_needed) {
    segment_shape shape = shape_;
    if (text_needed > shape.text_bytes / 2) { // one large value gets a segment of its own, without waste
        shape.text_bytes = text_needed;
        shape.samples = 1;
        shape.runs = 1;
    }
    const std::size_t needed = shape.block_bytes();

    const std::lock_guard lock(mutex_);
    seal_current_locked();
    segment_ref next;
    for (int spare = 2; window_.size() >= 2;) {
        // One to use again, while it is still in the caches, and one to shrink by after a burst.
        const bool spent = spare > 0 && front_is_read_locked();
        if (spent)
            --spare;
        else if (window_bytes_ + needed <= options_.bytes)
            break;
        if (policy == overflow::refuse && !room_or_announce_locked())
            return false;
        segment_ref dropped = take_front_locked();
        if (!next && dropped->unshared() && dropped->shape() == shape)
            next = std::move(dropped);
    }
    room_from_.store(no_room_wanted, std::memory_order_seq_cst);
    if (!next)
        next = segment_ref::adopt(new segment(shape));
    next->reset(next_);
    window_.push_back(std::move(next));
    window_bytes_ += needed;
    current_ = window_.back().get();
    sample_at_ = current_->samples();
    stamp_at_ = current_->stamps();
    free_ = shape.samples;
    text_used_ = 0;
    return true;
}

void sample_log::note_run(std::uint32_t count, const wire::stamp_run& run) noexcept {
    const std::uint32_t at = current_->run_count.load(std::memory_order_relaxed);
    if (at == current_->shape().runs)
        return; // the stamps column has them as well
    current_->runs()[at] = {current_->shape().samples - free_, {count, run.ahead, run.base}};
    current_->run_count.store(at + 1, std::memory_order_release);
}

std::uint32_t sample_log::append_text(std::span<const std::string_view> values, const double* stamps, overflow policy,
                                      const wire::stamp_run* run) {
    const std::size_t channels = shape_.channels;
    const std::size_t total = values.size() / channels;
    const auto text_of = [&](std::size_t sample) {
        std::size_t bytes = 0;
        for (const std::string_view value : values.subspan(sample * channels, channels))
            bytes += value.size();
        return bytes;
    };
    std::size_t text = text_of(0);
    if (free_ == 0 || text_used_ + text > current_->shape().text_bytes)
        if (!open_segment(policy, text))
            return 0;

    const std::size_t text_room = current_->shape().text_bytes;
    std::byte* const base = current_->samples();
    std::uint32_t* end_at = current_->offsets() + (current_->shape().samples - free_) * channels + 1;
    std::uint32_t appended = 0;
    do {
        for (const std::string_view value : values.subspan(appended * channels, channels)) {
            if (!value.empty())
                std::memcpy(base + text_used_, value.data(), value.size());
            text_used_ += value.size();
            *end_at++ = static_cast<std::uint32_t>(text_used_);
        }
        stamp_at_[appended] = stamps[appended];
        ++appended;
    } while (appended < total && appended < free_ && text_used_ + text_of(appended) <= text_room);
    commit(appended, run);
    return appended;
}

void sample_log::finish() {
    finished_.store(true, std::memory_order_seq_cst);
    wake_sleepers();
    interrupt_wait();
}

void sample_log::wake_sleepers() noexcept {
    const std::lock_guard lock(waiters_mutex_);
    idle_.store(false, std::memory_order_seq_cst);
    for (log_waiter* waiter : waiters_)
        if (waiter->armed_.exchange(false, std::memory_order_seq_cst))
            waiter->wake();
}

// --- room -----------------------------------------------------------------------------------------------------------

/// May the oldest segment go? If not, whoever makes it so will call offer_room.
bool sample_log::room_or_announce_locked() noexcept {
    if (window_.size() < 2 || may_drop_front_locked())
        return true;
    room_from_.store(window_.front()->sealed_at.load(std::memory_order_relaxed), std::memory_order_seq_cst);
    return may_drop_front_locked(); // a reader may have moved in between without seeing the announcement
}

void sample_log::offer_room_locked() {
    if (room_from_.load(std::memory_order_relaxed) == no_room_wanted)
        return;
    if (window_.size() >= 2 && !may_drop_front_locked())
        return;
    room_from_.store(no_room_wanted, std::memory_order_seq_cst);
    room_.notify_all();
    if (on_room_)
        on_room_();
}

void sample_log::offer_room() {
    const std::lock_guard lock(mutex_);
    offer_room_locked();
}

void sample_log::tell_read() noexcept {
    if (read_to_.exchange(nothing_awaited, std::memory_order_seq_cst) != nothing_awaited && on_read_)
        on_read_();
}

bool sample_log::wait_for_room(platform::time_point deadline) {
    std::unique_lock lock(mutex_);
    // Announced anew after every look: the last announcement may have been answered, and the room taken back since.
    const auto ready = [&] { return interrupted_ || room_or_announce_locked(); };
    return platform::wait_until(room_, lock, deadline, ready) && !interrupted_;
}

void sample_log::interrupt_wait() {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    room_.notify_all();
}

std::size_t sample_log::release_laggards() {
    const std::lock_guard lock(mutex_);
    if (window_.size() < 2)
        return 0; // nobody holds the producer up
    const std::uint64_t end = window_.front()->sealed_at.load(std::memory_order_relaxed);
    std::size_t released = 0;
    for (log_reader* r : readers_)
        if (r->position_.load(std::memory_order_acquire) < end && r->waited_for_.exchange(false))
            ++released;
    return released;
}

void sample_log::on_room(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    on_room_ = std::move(callback);
}

// --- readers --------------------------------------------------------------------------------------------------------

std::uint64_t sample_log::oldest() const {
    const std::lock_guard lock(mutex_);
    return window_.empty() ? head_.load(std::memory_order_relaxed) : window_.front()->first;
}

std::uint64_t sample_log::position_since(double stamp) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t at = 0;
    for (;;) { // a segment at a time: the mutex is free and only one segment is kept while its stamps are read
        segment_ref s;
        {
            const std::lock_guard lock(mutex_);
            if (!window_.empty())
                at = std::max(at, window_.front()->first);
            if (at >= head)
                return at;
            s = segment_of_locked(at);
        }
        const std::uint64_t end = std::min(head, s->sealed_at.load(std::memory_order_acquire));
        const double* const first = s->stamps() + (at - s->first);
        const double* const last = s->stamps() + (end - s->first);
        const double* const hit = std::find_if(first, last, [&](double t) { return t >= stamp; });
        at += static_cast<std::uint64_t>(hit - first);
        if (hit != last)
            return at;
    }
}

void sample_log::add_waiter(log_waiter& waiter) {
    const std::lock_guard lock(waiters_mutex_);
    waiters_.push_back(&waiter);
}

void sample_log::remove_waiter(log_waiter& waiter) {
    const std::lock_guard lock(waiters_mutex_);
    std::erase(waiters_, &waiter);
}

bool sample_log::arm(log_waiter& waiter, std::uint64_t position) noexcept {
    waiter.armed_.store(true, std::memory_order_seq_cst);
    idle_.store(true, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) <= position && !finished())
        return true;
    waiter.armed_.store(false, std::memory_order_seq_cst);
    return false;
}

/// The last segment that begins at or before a position of the window.
const segment_ref& sample_log::segment_of_locked(std::uint64_t position) const noexcept {
    const auto after = std::upper_bound(window_.begin(), window_.end(), position,
                                        [](std::uint64_t p, const segment_ref& s) { return p < s->first; });
    return *std::prev(after);
}

/// Puts the reader into the segment of its position, or of the oldest one kept.
void sample_log::enter(log_reader& reader) {
    segment_ref left; // freed, if need be, without the mutex
    const std::lock_guard lock(mutex_);
    std::uint64_t position = reader.position();
    const std::uint64_t oldest = window_.front()->first;
    if (position < oldest) {
        reader.lost_ += oldest - position;
        reader.total_lost_.fetch_add(oldest - position, std::memory_order_relaxed);
        position = oldest;
        reader.position_.store(position, std::memory_order_seq_cst);
        offer_room_locked();
    }
    left = std::exchange(reader.segment_, segment_of_locked(position));
}

// --- log_reader -----------------------------------------------------------------------------------------------------

log_reader::log_reader(std::shared_ptr<sample_log> log, std::uint64_t position, bool holds, bool announces)
    : log_(std::move(log)), position_(position), holds_(holds), announces_(announces), waited_for_(holds) {
    const std::lock_guard lock(log_->mutex_);
    log_->readers_.push_back(this);
}

log_reader::~log_reader() {
    const std::lock_guard lock(log_->mutex_);
    std::erase(log_->readers_, this);
    log_->offer_room_locked();
}

log_span log_reader::peek(std::uint32_t max) {
    std::uint64_t position = this->position();
    if (position >= known_head_) {
        known_head_ = log_->head();
        if (position >= known_head_) {
            if (holds_ && !waited_for_.load(std::memory_order_relaxed))
                waited_for_.store(true, std::memory_order_relaxed); // caught up: waited for again
            return {};
        }
    }
    if (!segment_ || position < segment_->first || position >= segment_->sealed_at.load(std::memory_order_acquire)) {
        log_->enter(*this);
        position = this->position();
        known_head_ = std::max(known_head_, position);
        if (position == known_head_) {
            known_head_ = log_->head();
            if (position == known_head_)
                return {};
        }
    }
    const std::uint64_t end = std::min(known_head_, segment_->sealed_at.load(std::memory_order_acquire));
    return {segment_.get(), position, static_cast<std::uint32_t>(position - segment_->first),
            static_cast<std::uint32_t>(std::min<std::uint64_t>(end - position, max))};
}

std::uint64_t log_reader::lag() const noexcept {
    const std::uint64_t mine = position_.load(std::memory_order_seq_cst); // first: the head is never behind it
    const std::uint64_t head = log_->head();
    return head > mine ? head - mine : 0;
}

std::uint64_t log_reader::out_of_window() const {
    const std::lock_guard lock(log_->mutex_);
    std::uint64_t next = position_.load(std::memory_order_acquire);
    if (segment_ && next >= segment_->first) // what is left of the segment it is in will still be read
        next = std::max(next, segment_->sealed_at.load(std::memory_order_acquire));
    const std::uint64_t oldest = log_->window_.empty() ? 0 : log_->window_.front()->first;
    return oldest > next ? oldest - next : 0;
}

} // namespace rivulet::samples
