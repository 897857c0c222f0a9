#include "core/inlet_impl.hpp"

#include "core/convert.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

/// How samples leave an inlet's log: numbered, converted, and with their stamps corrected.
namespace rivulet::detail {

using platform::clock;
using platform::deadline_after;
using platform::time_point;
using namespace std::chrono_literals;

namespace {

constexpr auto clock_patience = 2s; ///< for the first measurement of an outlet's clock, where stamps are corrected

} // namespace

void inlet_impl::check_usable() const {
    if (closed_.load(std::memory_order_acquire)) [[unlikely]]
        throw error(errc::closed, title() + ": it was closed; open a new inlet to go on");
    if (fork_.in_child()) [[unlikely]]
        throw error(errc::closed, title() + ": it belongs to the parent process; open inlets after fork");
    if (failed_.load(std::memory_order_acquire)) [[unlikely]] {
        const std::lock_guard lock(info_mutex_);
        throw stream_lost(failure_);
    }
}

/// Brings offset_ up to date for what lies at `position`.
void inlet_impl::apply_marks(std::uint64_t position) {
    while (marks_->next() <= position) {
        const core::sequence_mark mark = marks_->take();
        if (mark.new_segment) {
            const std::uint64_t reached = mark.position + offset_;
            if (!first_segment_ && reached > next_sequence_)
                lost_.fetch_add(reached - next_sequence_, std::memory_order_relaxed); // dropped here, before the switch
            new_segment_ = !first_segment_;
            first_segment_ = false;
            next_sequence_ = mark.sequence;
            stream_pulled_.store(service_.streams(), std::memory_order_release);
        }
        offset_ = mark.sequence - mark.position;
    }
}

/// What lies at the cursor, if anything.
bool inlet_impl::look(std::uint32_t max, next_chunk& out) {
    if (full_ == when_full::latest && reader_->lag() > 1)
        reader_->skip_to(log_->head() - 1);
    out.span = reader_->peek(max);
    if (!out.span)
        return false;
    out.result = {};
    apply_marks(out.span.position);
    out.result.new_segment = new_segment_;
    if (const std::uint64_t left = marks_->next() - out.span.position; left < out.span.count)
        out.span.count = static_cast<std::uint32_t>(left);
    out.result.samples = out.span.count;
    out.result.first_sequence = out.span.position + offset_;
    out.result.lost_before = out.result.first_sequence - next_sequence_;
    out.result.status = pull_status::data;
    return true;
}

void inlet_impl::prepare_stamps() {
    if (!stamp_options_.dejitter && !stamp_options_.monotonize && !stamp_options_.clocksync)
        return;
    processor_.emplace(stamp_options_, log_->options().rate_hz);
    if (stamp_options_.clocksync && !service_.time_correction(clock_patience))
        ctx_->log->warn("no_clock", {{"stream", info().name}, {"endpoint", endpoint()}},
                        "the outlet's clock could not be measured yet; its stamps come as they are until it is");
}

double inlet_impl::to_local(double stamp) {
    if (stamp_options_.clocksync)
        return stamp;
    const std::lock_guard lock(offset_mutex_);
    const std::uint64_t stream = stream_pulled_.load(std::memory_order_acquire);
    if (closed_.load() || fork_.in_child() || stream != service_.streams())
        return stamp + offset_s_;
    if (std::exchange(offset_of_, stream) != stream) {
        const auto measured = service_.time_correction(1s);
        offset_s_ = measured ? measured->offset_s : 0;
    } else if (const auto known = service_.clock_now()) {
        offset_s_ = known->estimate.offset_s;
    }
    return stamp + offset_s_;
}

void inlet_impl::look_at_clock(bool new_segment) {
    if (stream_pulled_.load(std::memory_order_relaxed) != service_.streams())
        return;
    if (new_segment)
        (void)service_.time_correction(clock_patience);
    auto known = service_.clock_now();
    if (!known || (known->version == clock_known_.version && known->of == clock_known_.of))
        return;
    processor_->update(known->estimate, clock_known_.of != nullptr && known->of != clock_known_.of);
    clock_known_ = std::move(*known);
}

void inlet_impl::process_stamps(const pull_result& result, std::span<double> stamps) {
    if (!processor_)
        return;
    if (stamp_options_.clocksync)
        look_at_clock(result.new_segment);
    processor_->apply(result.first_sequence, result.new_segment, stamps);
}

void inlet_impl::take(const next_chunk& chunk, std::uint32_t count) noexcept {
    reader_->advance(count);
    new_segment_ = false;
    next_sequence_ = chunk.result.first_sequence + count;
    pulled_.fetch_add(count, std::memory_order_relaxed);
    if (chunk.result.lost_before)
        lost_.fetch_add(chunk.result.lost_before, std::memory_order_relaxed);
}

/// After the last sample: the result that says so.
std::optional<pull_result> inlet_impl::at_end() {
    if (!log_->finished() || reader_->lag() > 0)
        return std::nullopt;
    apply_marks(reader_->position());
    const std::uint64_t final = buffer_ ? buffer_->final_sequence() : log_->head() + offset_;
    pull_result ended{.samples = 0,
                      .first_sequence = final,
                      .lost_before = 0,
                      .new_segment = new_segment_,
                      .status = pull_status::ended};
    if (!end_reported_) {
        end_reported_ = true;
        new_segment_ = false;
        ended.lost_before = final > next_sequence_ ? final - next_sequence_ : 0;
        lost_.fetch_add(ended.lost_before, std::memory_order_relaxed);
        next_sequence_ = final;
    }
    return ended;
}

inlet_impl::next_chunk inlet_impl::wait_for_chunk(std::uint32_t max, std::chrono::nanoseconds timeout) {
    next_chunk chunk;
    if (closed_.load(std::memory_order_acquire) || fork_.in_child()) [[unlikely]]
        check_usable();
    if (look(max, chunk))
        return chunk;
    const time_point deadline = timeout.count() <= 0 ? time_point::min() : deadline_after(clock::now(), timeout);
    for (;;) {
        if (const auto ended = at_end()) {
            chunk.result = *ended;
            return chunk;
        }
        check_usable(); // failed: only once all that came is pulled
        if (deadline == time_point::min() || clock::now() >= deadline) {
            if (link_fd_ >= 0 && !fd_with_io_.load()) {
                pump_here(clock::now());
                if (look(max, chunk))
                    return chunk;
            }
            if (use_wait_fd_.load(std::memory_order_relaxed))
                rearm_fd();
            return chunk;
        }
        sleep_until(deadline);
        if (look(max, chunk))
            return chunk;
    }
}

std::size_t inlet_impl::wait_for_samples(std::size_t max_samples, std::chrono::nanoseconds timeout) {
    const bool told = end_reported_;
    const auto chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    if (!told && chunk.result.status == pull_status::ended) { // is for the pull that follows to tell
        end_reported_ = false;
        new_segment_ = chunk.result.new_segment;
        next_sequence_ -= chunk.result.lost_before;
        lost_.fetch_sub(chunk.result.lost_before, std::memory_order_relaxed);
    }
    return chunk.span.count;
}

bool inlet_impl::pull_ready() { return reader_->lag() > 0 || log_->finished() || closed_.load() || failed_.load(); }

pull_result inlet_impl::pull_values(void* values, channel_format element, std::size_t count, std::span<double> stamps,
                                    std::chrono::nanoseconds timeout) {
    if (!is_fixed_size(format_)) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: its samples are {}; pull into std::string", title(), to_string(format_)));
    const std::size_t room = count / channels_;
    if (room * channels_ != count || (!stamps.empty() && stamps.size() < room)) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: room for {} values and {} stamps does not fit samples of {} channels", title(),
                                count, stamps.size(), channels_));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::min<std::size_t>(room ? room : 1, UINT32_MAX)), timeout);
    if (!chunk.span || room == 0)
        return room == 0 && chunk.span ? pull_result{} : chunk.result;
    core::convert_values(values, element, chunk.span.samples(), format_, chunk.span.count * channels_);
    if (!stamps.empty()) {
        std::memcpy(stamps.data(), chunk.span.stamps(), chunk.span.count * sizeof(double));
        process_stamps(chunk.result, stamps.first(chunk.span.count));
    }
    take(chunk, chunk.span.count);
    return chunk.result;
}

pull_result inlet_impl::pull_text(std::vector<std::string>& values, std::vector<double>& stamps,
                                  std::chrono::nanoseconds timeout, std::size_t max_samples) {
    if (is_fixed_size(format_)) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: its samples are {}; pull into a numeric type", title(), to_string(format_)));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    values.resize(chunk.span.count * channels_);
    stamps.resize(chunk.span.count);
    if (!chunk.span)
        return chunk.result;
    const auto ends = chunk.span.offsets();
    const auto text = chunk.span.text();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i].assign(reinterpret_cast<const char*>(text.data()) + (ends[i] - ends[0]), ends[i + 1] - ends[i]);
    std::memcpy(stamps.data(), chunk.span.stamps(), chunk.span.count * sizeof(double));
    process_stamps(chunk.result, stamps);
    take(chunk, chunk.span.count);
    return chunk.result;
}

chunk_view inlet_impl::pull_view(std::chrono::nanoseconds timeout, std::size_t max_samples) {
    if (!is_fixed_size(format_)) [[unlikely]]
        throw error(errc::not_supported, fmt::format("{}: its samples are {}, which cannot be viewed in place; use "
                                                     "pull_chunk",
                                                     title(), to_string(format_)));
    next_chunk chunk =
        wait_for_chunk(static_cast<std::uint32_t>(std::clamp<std::size_t>(max_samples, 1, UINT32_MAX)), timeout);
    chunk_view view;
    view.result_ = chunk.result;
    view.format_ = format_;
    if (!chunk.span)
        return view;
    view.state_ = std::make_unique<view_state>();
    view.state_->segment = reader_->share_segment();
    view.data_ = chunk.span.samples();
    view.count_ = chunk.span.count * channels_;
    view.stamps_ = {chunk.span.stamps(), chunk.span.count};
    if (processor_) {
        view.state_->stamps.assign(view.stamps_.begin(), view.stamps_.end());
        process_stamps(chunk.result, view.state_->stamps);
        view.stamps_ = view.state_->stamps;
    }
    take(chunk, chunk.span.count);
    return view;
}

} // namespace rivulet::detail
