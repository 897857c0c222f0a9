#include "samples/sample_log.hpp"

#include <algorithm>
#include <cstring>

namespace rivulet::samples {
namespace {

constexpr std::size_t max_segment_bytes = 1u << 20;
constexpr std::size_t min_segment_bytes = 4096;
constexpr std::size_t segments_per_window = 8;
constexpr std::uint32_t runs_per_segment = 256;

segment_shape shape_for(const log_options& o) {
    segment_shape shape;
    shape.channels = o.channels;
    const std::size_t target = std::clamp(o.bytes / segments_per_window, min_segment_bytes, max_segment_bytes);
    if (is_fixed_size(o.format)) {
        shape.sample_bytes = value_bytes(o.format) * o.channels;
        shape.samples = static_cast<std::uint32_t>(std::max<std::size_t>(1, target / (shape.sample_bytes + 8)));
    } else {
        shape.text_bytes = target;
        shape.samples = static_cast<std::uint32_t>(std::max<std::size_t>(1, target / (8 + 4 * o.channels) / 2));
    }
    shape.runs = std::min(runs_per_segment, shape.samples / 2 + 1);
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

std::size_t sample_log::charge(const segment& s) const noexcept {
    return s.used * (sizeof(double) + (variable() ? 4 * shape_.channels : shape_.sample_bytes)) + s.text_used;
}

/// Dropping the oldest segment is no loss for anybody whom the producer waits for.
bool sample_log::may_drop_front_locked() const noexcept {
    const std::uint64_t end = window_.front()->sealed_at.load(std::memory_order_relaxed);
    return std::ranges::none_of(readers_, [&](const log_reader* r) {
        return r->waited_for_.load(std::memory_order_relaxed) && r->position_.load(std::memory_order_acquire) < end;
    });
}

/// Seals the current segment and opens the next; nullptr when that would drop what must not be dropped.
segment* sample_log::next_segment(overflow policy, std::size_t text_needed) {
    segment_shape shape = shape_;
    shape.text_bytes = variable() ? std::max(shape_.text_bytes, text_needed) : 0;
    const std::size_t needed =
        shape.samples * (sizeof(double) + (variable() ? 4 * shape.channels : shape.sample_bytes)) + shape.text_bytes;
    const std::uint64_t first = head_.load(std::memory_order_relaxed);

    const std::unique_lock lock(mutex_);
    if (current_ && current_->sealed_at.load(std::memory_order_relaxed) == segment::open) {
        sealed_bytes_ += charge(*current_);
        current_->sealed_at.store(first, std::memory_order_release);
    }
    segment_ref next;
    while (window_.size() >= 2 && sealed_bytes_ + needed > options_.bytes) {
        if (policy == overflow::refuse && !may_drop_front_locked()) {
            room_wanted_ = true;
            return nullptr;
        }
        segment_ref dropped = std::move(window_.front());
        window_.pop_front();
        sealed_bytes_ -= charge(*dropped.get());
        if (!next && dropped->unshared() && dropped->shape() == shape)
            next = std::move(dropped);
    }
    if (!next)
        next = segment_ref::adopt(new segment(shape));
    next->reset(first);
    current_ = next.get();
    window_.push_back(std::move(next));
    return current_;
}

sample_log::room sample_log::reserve(overflow policy) {
    segment* s = current_;
    if (!s || s->used == s->shape().samples) [[unlikely]] {
        s = next_segment(policy, 0);
        if (!s)
            return {};
    }
    return {s->samples() + s->used * shape_.sample_bytes, s->stamps() + s->used, s->shape().samples - s->used};
}

void sample_log::commit(std::uint32_t count, const wire::stamp_run* run) {
    segment* s = current_;
    if (run) {
        const std::uint32_t at = s->run_count.load(std::memory_order_relaxed);
        if (at < s->shape().runs) {
            s->runs()[at] = {s->used, *run};
            s->run_count.store(at + 1, std::memory_order_release);
        }
    }
    s->used += count;
    publish(head_.load(std::memory_order_relaxed) + count);
}

std::uint32_t sample_log::append_text(std::span<const std::string_view> values, const double* stamps, overflow policy,
                                      const wire::stamp_run* run) {
    const std::size_t channels = shape_.channels;
    const auto total = static_cast<std::uint32_t>(values.size() / channels);
    const auto text_of = [&](std::uint32_t sample) {
        std::size_t bytes = 0;
        for (std::size_t c = 0; c < channels; ++c)
            bytes += values[sample * channels + c].size();
        return bytes;
    };
    const std::size_t first_text = text_of(0);
    segment* s = current_;
    if (!s || s->used == s->shape().samples || s->text_used + first_text > s->shape().text_bytes ||
        s->sealed_at.load(std::memory_order_relaxed) != segment::open) { // sealed by a refusal: stays closed
        s = next_segment(policy, first_text);
        if (!s)
            return 0;
    }
    std::uint32_t appended = 0;
    std::size_t text = s->text_used;
    std::uint32_t* ends = s->offsets() + s->used * channels + 1;
    for (; appended < total && s->used + appended < s->shape().samples; ++appended) {
        if (text + text_of(appended) > s->shape().text_bytes)
            break;
        for (std::size_t c = 0; c < channels; ++c) {
            const std::string_view value = values[appended * channels + c];
            if (!value.empty())
                std::memcpy(s->samples() + text, value.data(), value.size());
            text += value.size();
            *ends++ = static_cast<std::uint32_t>(text);
        }
        s->stamps()[s->used + appended] = stamps[appended];
    }
    s->text_used = text;
    wire::stamp_run part;
    if (run) {
        part = {appended, run->ahead, run->base};
        run = &part;
    }
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

bool sample_log::room_possible_locked() const noexcept { return window_.size() < 2 || may_drop_front_locked(); }

bool sample_log::wait_for_room(platform::time_point deadline) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return interrupted_ || room_possible_locked(); };
    room_wanted_ = true;
    if (deadline == platform::time_point::max())
        room_.wait(lock, ready);
    else if (!room_.wait_until(lock, deadline, ready))
        return false;
    return !interrupted_;
}

void sample_log::interrupt_wait() {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    room_.notify_all();
}

std::size_t sample_log::release_laggards() {
    const std::lock_guard lock(mutex_);
    if (window_.empty())
        return 0;
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
    const std::lock_guard lock(mutex_);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    for (const segment_ref& s : window_) {
        const std::uint64_t end = std::min(head, s->sealed_at.load(std::memory_order_acquire));
        const double* stamps = s->stamps();
        for (std::uint64_t i = 0; s->first + i < end; ++i)
            if (stamps[i] >= stamp)
                return s->first + i;
    }
    return head;
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
    if (head_.load(std::memory_order_seq_cst) == position && !finished())
        return true;
    waiter.armed_.store(false, std::memory_order_seq_cst);
    return false;
}

/// Puts the reader into the segment of its position, or of the oldest one kept.
segment_ref sample_log::enter(log_reader& reader) {
    const std::lock_guard lock(mutex_);
    std::uint64_t position = reader.position();
    if (position < window_.front()->first) {
        reader.lost_ += window_.front()->first - position;
        reader.total_lost_.fetch_add(window_.front()->first - position, std::memory_order_relaxed);
        position = window_.front()->first;
        reader.position_.store(position, std::memory_order_release);
    }
    const auto after = std::upper_bound(window_.begin(), window_.end(), position,
                                        [](std::uint64_t p, const segment_ref& s) { return p < s->first; });
    if (room_wanted_ && room_possible_locked()) {
        room_wanted_ = false;
        room_.notify_all();
        if (on_room_)
            on_room_();
    }
    return *std::prev(after);
}

log_reader::log_reader(std::shared_ptr<sample_log> log, std::uint64_t position, bool holds)
    : log_(std::move(log)), position_(position), holds_(holds), waited_for_(holds) {
    const std::lock_guard lock(log_->mutex_);
    log_->readers_.push_back(this);
}

log_reader::~log_reader() {
    const std::lock_guard lock(log_->mutex_);
    std::erase(log_->readers_, this);
    if (log_->room_wanted_ && log_->room_possible_locked()) {
        log_->room_wanted_ = false;
        log_->room_.notify_all();
        if (log_->on_room_)
            log_->on_room_();
    }
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
        segment_ = log_->enter(*this);
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

void log_reader::skip_to(std::uint64_t position) noexcept {
    if (position > this->position())
        position_.store(position, std::memory_order_release);
}

std::uint64_t log_reader::out_of_window() const {
    const std::lock_guard lock(log_->mutex_);
    const std::uint64_t oldest = log_->window_.empty() ? 0 : log_->window_.front()->first;
    const std::uint64_t mine = position_.load(std::memory_order_acquire);
    return oldest > mine ? oldest - mine : 0;
}

} // namespace rivulet::samples
