#include "core/outlet_impl.hpp"

#include "core/convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>

/// How an outlet's samples get into its log, or, sync, to its links.
namespace rivulet::detail {

using platform::clock;
using platform::deadline_after;
using platform::time_point;

void outlet_impl::check_open() const {
    if (stopping_.load(std::memory_order_relaxed)) [[unlikely]]
        throw error(errc::closed, title() + ": it was stopped; make a new outlet to go on");
    if (fork_.in_child()) [[unlikely]]
        throw error(errc::closed, title() + ": it belongs to the parent process; make outlets after fork");
}

/// @return how many samples `count` values are.
std::size_t outlet_impl::check_shape(std::size_t count, std::size_t stamps) const {
    const std::size_t samples = channels_ == 1 ? count : count / channels_;
    if (samples * channels_ != count) [[unlikely]]
        throw error(errc::shape_mismatch, fmt::format("{}: got {} values, which is no multiple of its {} channels",
                                                      title(), count, channels_));
    if (stamps != 0 && stamps != samples) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: got {} stamps for {} samples; give one stamp a sample", title(), stamps, samples));
    return samples;
}

void outlet_impl::check_stamps(const push_stamps& stamps) const {
    const bool bad =
        std::isnan(stamps.last) || std::ranges::any_of(stamps.each, [](double s) { return std::isnan(s); });
    if (bad) [[unlikely]]
        throw error(errc::invalid_argument, title() + ": a stamp is NaN; give seconds on local_clock(), or now");
}

void outlet_impl::push_one(const void* values, channel_format element, std::size_t count, double stamp) {
    if (stamp == now)
        stamp = local_clock();
    // Not NaN, and nothing to convert.
    if (element == info_.format && count == channels_ && log_ && stamp > now && sample_bytes_ != 0) [[likely]] {
        check_open();
        const std::lock_guard lock(producer_);
        if (const auto room = log_->reserve(policy_); room.count != 0) [[likely]] {
            if (sample_bytes_ == sizeof(std::uint32_t))
                std::memcpy(room.samples, values, sizeof(std::uint32_t));
            else
                std::memcpy(room.samples, values, sample_bytes_);
            *room.stamps = stamp;
            log_->commit(1);
            return;
        }
    }
    if (count != channels_) [[unlikely]]
        throw error(errc::shape_mismatch,
                    fmt::format("{}: one sample has {} values, got {}", title(), channels_, count));
    push_values(values, element, count, {{}, stamp});
}

void outlet_impl::push_values(const void* values, channel_format element, std::size_t count,
                              const push_stamps& stamps) {
    check_open();
    const std::size_t samples = check_shape(count, stamps.each.size());
    check_stamps(stamps);
    if (samples == 0)
        return;
    const bool blob = element == channel_format::blob;
    if (!is_fixed_size(info_.format) && !blob) [[unlikely]]
        throw error(errc::format_mismatch, fmt::format("{}: cannot push {} values, its format is {}", title(),
                                                       to_string(element), to_string(info_.format)));
    push_stamps resolved = stamps;
    if (resolved.last == now)
        resolved.last = local_clock();
    if (log_) {
        const std::lock_guard lock(producer_);
        append(values, element, samples, resolved);
        return;
    }
    if (element != info_.format) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: sync delivery sends from the caller's memory and cannot convert {} to {}; push {} "
                                "values or use delivery::async",
                                title(), to_string(element), to_string(info_.format), to_string(info_.format)));
    const std::lock_guard lock(producer_);
    send(static_cast<const std::byte*>(values), samples, info_.sample_bytes(), resolved);
}

void outlet_impl::append(const void* values, channel_format element, std::size_t samples, const push_stamps& stamps) {
    const auto* from = static_cast<const std::byte*>(values);
    const std::size_t from_bytes = value_bytes(element) * channels_;
    for (std::size_t done = 0; done < samples;) {
        const auto room = log_->reserve(policy_);
        if (room.count == 0) {
            wait_for_room();
            continue;
        }
        const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(room.count, samples - done));
        core::convert_values(room.samples, info_.format, from, element, n * channels_);
        from += n * from_bytes;
        if (!stamps.each.empty()) {
            std::memcpy(room.stamps, stamps.each.data() + done, n * sizeof(double));
            log_->commit(n);
        } else if (samples == 1) {
            *room.stamps = stamps.last;
            log_->commit(1);
        } else {
            const wire::stamp_run run{n, static_cast<std::uint32_t>(samples - done - 1), stamps.last};
            wire::expand_run(run, info_.nominal_rate_hz, room.stamps);
            log_->commit(n, &run);
        }
        done += n;
    }
}

void outlet_impl::push_text(std::span<const std::string_view> values, const push_stamps& stamps) {
    check_open();
    if (info_.format != channel_format::string && info_.format != channel_format::blob) [[unlikely]]
        throw error(errc::format_mismatch,
                    fmt::format("{}: cannot push text, its format is {}", title(), to_string(info_.format)));
    const std::size_t samples = check_shape(values.size(), stamps.each.size());
    check_stamps(stamps);
    for (std::size_t i = 0; i < samples; ++i) {
        std::size_t bytes = 0;
        for (std::size_t c = 0; c < channels_; ++c)
            bytes += values[i * channels_ + c].size() + sizeof(std::uint32_t);
        if (bytes > max_frame_)
            throw error(errc::limit_exceeded,
                        fmt::format("{}: a sample of {} bytes is beyond max_frame ({} bytes); raise [tuning] max_frame "
                                    "on both ends",
                                    title(), bytes, max_frame_));
    }
    if (samples == 0)
        return;
    push_stamps resolved = stamps;
    if (resolved.last == now)
        resolved.last = local_clock();
    const std::lock_guard lock(producer_);
    if (log_)
        return append_text(values, samples, resolved);
    for (std::size_t i = 0; i < samples; ++i) { // a blob a frame: its payload is two offsets and the caller's bytes
        const push_stamps one{{}, resolved.each.empty() ? resolved.last : resolved.each[i]};
        send(reinterpret_cast<const std::byte*>(values[i].data()), 1, values[i].size(), one);
    }
}

void outlet_impl::append_text(std::span<const std::string_view> values, std::size_t samples,
                              const push_stamps& stamps) {
    std::vector<double> deduced;
    wire::stamp_run all{static_cast<std::uint32_t>(samples), static_cast<std::uint32_t>(samples - 1), stamps.last};
    std::span<const double> each = stamps.each;
    if (each.empty()) {
        deduced.resize(samples);
        wire::expand_run(all, info_.nominal_rate_hz, deduced.data());
        each = deduced;
    }
    for (std::size_t done = 0; done < samples;) {
        const wire::stamp_run run{all.count, static_cast<std::uint32_t>(samples - done - 1), stamps.last};
        const std::uint32_t n = log_->append_text(values.subspan(done * channels_), each.data() + done, policy_,
                                                  stamps.each.empty() && samples > 1 ? &run : nullptr);
        if (n == 0)
            wait_for_room();
        done += n;
    }
}

/// The log is full of samples that somebody we wait for has not got yet.
void outlet_impl::wait_for_room() {
    if (!log_->wait_for_room(deadline_after(clock::now(), send_timeout_))) {
        check_open();
        const std::size_t released = log_->release_laggards();
        ctx_->log->warn("consumer_slow", {{"stream", info_.name}, {"consumers", released}},
                        "consumers took nothing for send_timeout: not waited for until they have caught up");
    }
}

// --- sync -----------------------------------------------------------------------------------------------------------

/// Cuts the values into frames of at most max_frame and sends each.
void outlet_impl::send(const std::byte* values, std::size_t samples, std::size_t sample_bytes,
                       const push_stamps& stamps) {
    const bool blob = info_.format == channel_format::blob;
    const std::size_t at_once =
        blob ? 1 : std::clamp<std::size_t>(max_frame_ / (sample_bytes + sizeof(double)), 1, samples);
    std::array<std::byte, wire::data_head_capacity(1)> buffer;
    for (std::size_t done = 0; done < samples;) {
        const std::size_t n = std::min(at_once, samples - done);
        const wire::stamp_run run{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(samples - done - 1),
                                  stamps.last};
        transport::sync_frame frame;
        frame.header.first_sequence = sequence_;
        frame.header.count = static_cast<std::uint32_t>(n);
        if (stamps.each.empty())
            frame.header.runs = {&run, 1};
        else
            frame.header.column = stamps.each.subspan(done, n);
        frame.payload = {values + done * sample_bytes, n * sample_bytes};
        frame.header.payload_bytes = frame.payload.size();
        std::array<std::byte, 2 * sizeof(std::uint32_t)> offsets{};
        if (blob) {
            const auto end = static_cast<std::uint32_t>(sample_bytes);
            std::memcpy(offsets.data() + sizeof end, &end, sizeof end);
            frame.prefix = offsets;
            frame.header.payload_bytes += offsets.size();
        }
        frame.head = wire::encode_data_head(frame.header, buffer);
        send_frame(frame);
        sequence_ += n;
        pushed_sync_.fetch_add(n, std::memory_order_relaxed);
        done += n;
    }
}

/// Hands one frame to all consumers of all links, then waits until nothing refers to the payload.
void outlet_impl::send_frame(const transport::sync_frame& frame) {
    check_open();
    const time_point deadline = deadline_after(clock::now(), send_timeout_);
    for (const auto& link : links_)
        link->begin_send(frame, deadline);
    bool aborted = false;
    for (;;) {
        const time_point at = clock::now();
        wait_.clear();
        bool done = true;
        for (const auto& link : links_)
            done &= link->progress(at, wait_);
        if (done)
            break;
        if (!aborted && stopping_.load(std::memory_order_acquire)) {
            for (const auto& link : links_)
                link->abort_send();
            aborted = true;
            continue;
        }
        if (!aborted)
            wait_.add(stop_fd_.get(), POLLIN);
        wait_.wait(at);
    }
    environment_.drains->changed();
    if (aborted)
        check_open();
}

} // namespace rivulet::detail
