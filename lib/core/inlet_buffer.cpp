#include "core/inlet_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rivulet::core {
namespace {

using overflow = samples::sample_log::overflow;

} // namespace

inlet_buffer::inlet_buffer(const samples::log_options& options, when_full policy)
    : options_(options), policy_(policy == when_full::hold ? overflow::refuse : overflow::drop_oldest),
      log_(std::make_shared<samples::sample_log>(options)) {}

/// What is held back comes before it.
void inlet_buffer::mark(std::uint64_t sequence, bool new_segment) {
    marks_.add({log_->head() + (held_count_ - held_done_), sequence, new_segment});
}

void inlet_buffer::start_segment(std::uint64_t next_sequence) {
    flush_held();
    mark(next_sequence, true);
    expected_ = next_sequence;
}

bool inlet_buffer::ready() {
    if (!flush_held())
        return false;
    if (end_pending_ && !log_->finished())
        log_->finish();
    return true;
}

void inlet_buffer::end(std::uint64_t final_sequence) {
    final_.store(final_sequence, std::memory_order_release);
    end_pending_ = true;
    ready();
}

// --- appending ------------------------------------------------------------------------------------------------------

/// The stamps of samples first .. first + count of a frame, in native order.
void inlet_buffer::read_stamps(const wire::data_view& frame, std::uint32_t first, std::uint32_t count, bool swapped,
                               double* to) const noexcept {
    if (!frame.column.empty()) {
        const std::byte* from = frame.column.data() + first * sizeof(double);
        if (swapped)
            wire::copy_swapped(to, from, count, sizeof(double));
        else
            std::memcpy(to, from, count * sizeof(double));
        return;
    }
    for (const wire::stamp_run& run : frame.runs) {
        if (count == 0)
            return;
        if (first >= run.count) {
            first -= run.count;
            continue;
        }
        const std::uint32_t n = std::min(run.count - first, count);
        wire::expand_run({n, run.ahead - first, run.base}, options_.rate_hz, to);
        to += n;
        count -= n;
        first = 0;
    }
}

bool inlet_buffer::append(const wire::data_view& frame, std::endian order) {
    const bool swapped = order != std::endian::native;
    const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
    if (sample_bytes != 0 && frame.payload.size() != frame.count * sample_bytes)
        return false;
    std::uint32_t skip = 0;
    if (frame.first_sequence < expected_) {
        skip = static_cast<std::uint32_t>(std::min<std::uint64_t>(expected_ - frame.first_sequence, frame.count));
        repeated_.fetch_add(skip, std::memory_order_relaxed);
        if (skip == frame.count)
            return true;
    }
    if (sample_bytes == 0)
        return append_text(frame, skip, order);

    if (frame.first_sequence > expected_)
        mark(frame.first_sequence, false);
    expected_ = frame.first_sequence + frame.count;
    received_.fetch_add(frame.count - skip, std::memory_order_relaxed);
    const std::uint32_t done = skip + append_fixed(frame, skip, swapped);
    if (const std::uint32_t left = frame.count - done; left != 0) {
        held_bytes_.resize(left * sample_bytes);
        held_stamps_.resize(left);
        copy_values(held_bytes_.data(), frame.payload.data() + done * sample_bytes, left, swapped);
        read_stamps(frame, done, left, swapped, held_stamps_.data());
        held_done_ = 0;
        held_count_ = left;
    }
    return true;
}

// --- a frame that comes piece by piece ------------------------------------------------------------------------------

bool inlet_buffer::begin(const wire::data_view& begun, std::size_t payload_bytes, std::endian order) {
    const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
    if (sample_bytes == 0 || order != std::endian::native || payload_bytes != begun.count * sample_bytes ||
        begun.first_sequence < expected_ || held_count_ != 0)
        return false;
    if (begun.first_sequence > expected_)
        mark(begun.first_sequence, false);
    expected_ = begun.first_sequence;
    begun_.runs.assign(begun.runs.begin(), begun.runs.end());
    begun_.column.assign(begun.column.begin(), begun.column.end());
    begun_.view = begun;
    begun_.view.runs = begun_.runs;
    begun_.view.column = begun_.column;
    begun_.done = 0;
    begun_.partial = 0;
    return true;
}

std::span<std::byte> inlet_buffer::payload_room() {
    const std::uint32_t left = begun_.view.count - begun_.done;
    if (left == 0)
        return {};
    const auto room = log_->reserve(policy_);
    const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
    const std::size_t bytes = std::min(room.count, left) * sample_bytes;
    return bytes == 0 ? std::span<std::byte>() : std::span(room.samples + begun_.partial, bytes - begun_.partial);
}

void inlet_buffer::payload_received(std::size_t bytes) {
    const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
    begun_.partial += bytes;
    const auto whole = static_cast<std::uint32_t>(begun_.partial / sample_bytes);
    if (whole == 0)
        return;
    begun_.partial %= sample_bytes;
    const auto room = log_->reserve(policy_); // the same as payload_room() gave out
    read_stamps(begun_.view, begun_.done, whole, false, room.stamps);
    log_->commit(whole);
    begun_.done += whole;
    expected_ += whole;
    received_.fetch_add(whole, std::memory_order_relaxed);
}

void inlet_buffer::copy_values(std::byte* to, const std::byte* from, std::size_t samples, bool swapped) const noexcept {
    const std::size_t width = value_bytes(options_.format);
    if (swapped)
        wire::copy_swapped(to, from, samples * options_.channels, width);
    else
        std::memcpy(to, from, samples * options_.channels * width);
}

/// Appends a frame's samples from `first` on, as far as there is room; returns how many.
std::uint32_t inlet_buffer::append_fixed(const wire::data_view& frame, std::uint32_t first, bool swapped) {
    const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
    std::uint32_t at = first;
    while (at < frame.count) {
        const auto room = log_->reserve(policy_);
        if (room.count == 0)
            break;
        const std::uint32_t n = std::min(room.count, frame.count - at);
        copy_values(room.samples, frame.payload.data() + at * sample_bytes, n, swapped);
        read_stamps(frame, at, n, swapped, room.stamps);
        log_->commit(n);
        at += n;
    }
    return at - first;
}

bool inlet_buffer::append_text(const wire::data_view& frame, std::uint32_t skip, std::endian order) {
    stamps_.resize(frame.count);
    read_stamps(frame, 0, frame.count, order != std::endian::native, stamps_.data());
    wire::text_payload payload;
    const std::uint64_t values = std::uint64_t{frame.count} * options_.channels;
    if (wire::text_payload::parse(frame.payload, values, order, payload) != wire::frame_error::none)
        return false;
    texts_.clear();
    for (std::uint64_t i = std::uint64_t{skip} * options_.channels; i < values; ++i) {
        const wire::bytes_view text = payload[i];
        texts_.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    }
    if (frame.first_sequence > expected_)
        mark(frame.first_sequence, false);
    expected_ = frame.first_sequence + frame.count;
    const std::uint32_t count = frame.count - skip;
    std::uint32_t done = 0;
    while (done < count) {
        const std::uint32_t n = log_->append_text(std::span(texts_).subspan(done * options_.channels),
                                                  stamps_.data() + skip + done, policy_);
        if (n == 0)
            break;
        done += n;
    }
    received_.fetch_add(count, std::memory_order_relaxed);
    if (done < count) {
        held_texts_.assign(texts_.begin() + static_cast<std::ptrdiff_t>(done * options_.channels), texts_.end());
        held_stamps_.assign(stamps_.begin() + skip + done, stamps_.end());
        held_done_ = 0;
        held_count_ = count - done;
    }
    return true;
}

/// Puts what was held back into the log, as far as there is room; true when nothing is left.
bool inlet_buffer::flush_held() {
    while (held_done_ < held_count_) {
        const auto left = static_cast<std::uint32_t>(held_count_ - held_done_);
        std::uint32_t n = 0;
        if (log_->variable()) {
            texts_.assign(held_texts_.begin() + static_cast<std::ptrdiff_t>(held_done_ * options_.channels),
                          held_texts_.end());
            n = log_->append_text(texts_, held_stamps_.data() + held_done_, policy_);
        } else if (const auto room = log_->reserve(policy_); room.count != 0) {
            const std::size_t sample_bytes = value_bytes(options_.format) * options_.channels;
            n = std::min(room.count, left);
            copy_values(room.samples, held_bytes_.data() + held_done_ * sample_bytes, n, false);
            std::memcpy(room.stamps, held_stamps_.data() + held_done_, n * sizeof(double));
            log_->commit(n);
        }
        held_done_ += n;
        if (n == 0)
            return false;
    }
    held_count_ = held_done_ = 0;
    return true;
}

} // namespace rivulet::core
