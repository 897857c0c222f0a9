#include <rivulet/inlet.hpp>

#include "core/inlet_impl.hpp"
#include "transport/endpoint_choice.hpp"
#include "transport/transport.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

namespace rivulet {
namespace {

detail::inlet_impl& alive(const std::unique_ptr<detail::inlet_impl>& impl) {
    if (!impl) [[unlikely]]
        throw error(errc::closed, "inlet: this handle was moved from");
    return *impl;
}

/// A forked child must not touch sockets and threads that are its parent's: it lets go of them without a word.
void let_go(std::unique_ptr<detail::inlet_impl>& impl) noexcept {
    if (!impl)
        return;
    if (impl->inert())
        return (void)impl.release();
    impl->close();
    impl.reset();
}

constexpr auto endpoint_patience = std::chrono::milliseconds(250); ///< for a better one while a worse one would do
constexpr auto least_open_timeout = std::chrono::seconds(1);       ///< of an endpoint before the next one is tried

/// The first endpoint that answers as this very stream.
std::unique_ptr<detail::inlet_impl> open_found(const found_stream& stream, inlet_options options) {
    const auto deadline = platform::deadline_after(platform::clock::now(), options.open_timeout);
    std::string tried;
    const auto note = [&](const std::string& endpoint, const std::string& why) {
        tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", endpoint, why);
    };
    const auto endpoints = transport::order_endpoints(stream.endpoints, endpoint_patience);
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        if (options.open_timeout != forever) {
            const std::chrono::nanoseconds left = deadline - platform::clock::now();
            const auto share = left / static_cast<std::int64_t>(endpoints.size() - i);
            options.open_timeout = std::max<std::chrono::nanoseconds>(
                std::min<std::chrono::nanoseconds>(left, std::max<std::chrono::nanoseconds>(share, least_open_timeout)),
                std::chrono::milliseconds(1));
        }
        try {
            auto impl = std::make_unique<detail::inlet_impl>(endpoints[i], options);
            if (stream.info.uid.empty() || impl->info().uid == stream.info.uid)
                return impl;
            note(endpoints[i], "somebody else's stream, \"" + impl->info().name + '"');
        } catch (const error& e) {
            if (e.code() != errc::not_connected && e.code() != errc::bad_endpoint && e.code() != errc::not_supported)
                throw;
            note(endpoints[i], e.what());
        }
    }
    throw error(errc::not_connected,
                fmt::format("inlet of \"{}\": {}", stream.info.name,
                            tried.empty() ? "it has no endpoint that can be reached from here; see [ports] advertise"
                                          : "none of its endpoints answered (" + tried + ")"));
}

void check_one_sample(const detail::inlet_impl& impl, std::size_t count) {
    if (count != impl.channels()) [[unlikely]]
        throw error(errc::shape_mismatch, "inlet of " + impl.endpoint() + ": one sample has " +
                                              std::to_string(impl.channels()) + " values, got room for " +
                                              std::to_string(count));
}

} // namespace

// --- chunk_view -----------------------------------------------------------------------------------------------------

chunk_view::chunk_view() noexcept = default;
chunk_view::~chunk_view() = default;
chunk_view::chunk_view(chunk_view&&) noexcept = default;
chunk_view& chunk_view::operator=(chunk_view&&) noexcept = default;

std::span<const std::byte> chunk_view::bytes() const noexcept {
    return {static_cast<const std::byte*>(data_), count_ * value_bytes(format_)};
}

void chunk_view::check(channel_format wanted) const {
    if (wanted != format_ && count_ != 0)
        throw error(errc::format_mismatch, "chunk view: its values are " + std::string(to_string(format_)) + ", not " +
                                               std::string(to_string(wanted)) + "; use pull_chunk to convert");
}

// --- inlet ----------------------------------------------------------------------------------------------------------

inlet::inlet(std::string_view endpoint, inlet_options options)
    : impl_(std::make_unique<detail::inlet_impl>(endpoint, std::move(options))) {}
inlet::inlet(const found_stream& stream, inlet_options options) : impl_(open_found(stream, std::move(options))) {}
inlet::~inlet() { let_go(impl_); }
inlet::inlet(inlet&&) noexcept = default;
inlet& inlet::operator=(inlet&& other) noexcept {
    if (this != &other) {
        let_go(impl_);
        impl_ = std::move(other.impl_);
    }
    return *this;
}

stream_info inlet::info() const { return alive(impl_).info(); }

const std::string& inlet::endpoint() const noexcept {
    static const std::string none;
    return impl_ ? impl_->endpoint() : none;
}

pull_result inlet::pull_numeric(void* values, channel_format element, std::size_t count, std::span<double> stamps,
                                std::chrono::nanoseconds timeout) {
    return alive(impl_).pull_values(values, element, count, stamps, timeout);
}

pull_result inlet::pull_numeric_sample(void* values, channel_format element, std::size_t count, double& stamp,
                                       std::chrono::nanoseconds timeout) {
    auto& impl = alive(impl_);
    check_one_sample(impl, count);
    return impl.pull_values(values, element, count, {&stamp, 1}, timeout);
}

pull_result inlet::pull_chunk(std::vector<std::string>& values, std::vector<double>& stamps,
                              std::chrono::nanoseconds timeout, std::size_t max_samples) {
    return alive(impl_).pull_text(values, stamps, timeout, max_samples);
}

pull_result inlet::pull_sample(std::vector<std::string>& sample, double& stamp, std::chrono::nanoseconds timeout) {
    std::vector<double> stamps;
    const pull_result result = alive(impl_).pull_text(sample, stamps, timeout, 1);
    if (!stamps.empty())
        stamp = stamps.front();
    return result;
}

pull_result inlet::pull_sample(std::string& text, double& stamp, std::chrono::nanoseconds timeout) {
    check_one_sample(alive(impl_), 1);
    std::vector<std::string> sample;
    const pull_result result = pull_sample(sample, stamp, timeout);
    if (!sample.empty())
        text = std::move(sample.front());
    return result;
}

chunk_view inlet::pull_view(std::chrono::nanoseconds timeout, std::size_t max_samples) {
    return alive(impl_).pull_view(timeout, max_samples);
}

std::size_t inlet::wait_for_samples(std::size_t max_samples, std::chrono::nanoseconds timeout) {
    return alive(impl_).wait_for_samples(max_samples, timeout);
}

std::size_t inlet::samples_available() const { return alive(impl_).samples_available(); }
std::size_t inlet::flush() { return alive(impl_).flush(); }
int inlet::wait_fd() const { return alive(impl_).wait_fd(); }
std::size_t inlet::channel_count() const noexcept { return impl_ ? impl_->channels() : 0; }
std::uint64_t inlet::next_sequence() { return alive(impl_).next_sequence(); }
inlet_stats inlet::stats() const { return alive(impl_).stats(); }
std::optional<control_reply> inlet::send_control(std::span<const std::byte> data, const control_options& options) {
    return alive(impl_).service().send_control(data, options);
}
void inlet::post_control(std::span<const std::byte> data, const control_options& options,
                         std::function<void(std::optional<control_reply>)> callback) {
    alive(impl_).service().post_control(data, options, std::move(callback));
}
std::optional<outlet_stats> inlet::remote_stats(std::chrono::nanoseconds timeout) const {
    return alive(impl_).service().stats(timeout);
}
std::optional<clock_offset> inlet::time_correction(std::chrono::nanoseconds timeout) const {
    return alive(impl_).service().time_correction(timeout);
}
std::vector<clock_record> inlet::take_clock_records() { return alive(impl_).service().take_clock_records(); }
std::int64_t inlet::to_unix_ns(double stamp) const { return local_to_unix_ns(impl_->to_local(stamp)); }

void inlet::close() {
    if (impl_ && !impl_->inert())
        impl_->close();
}

std::vector<std::size_t> wait_any(std::span<inlet* const> inlets, std::chrono::nanoseconds timeout) {
    std::vector<std::size_t> ready;
    transport::poll_set wait;
    for (const inlet* in : inlets)
        wait.add(in->wait_fd(), POLLIN);
    const auto deadline = platform::deadline_after(platform::clock::now(), timeout);
    wait.at(deadline);
    for (;;) {
        for (std::size_t i = 0; i < inlets.size(); ++i)
            if (alive(inlets[i]->impl_).pull_ready())
                ready.push_back(i);
        const auto now_time = platform::clock::now();
        if (!ready.empty() || now_time >= deadline)
            return ready;
        for (const inlet* in : inlets)
            alive(in->impl_).prepare_wait();
        wait.wait(now_time);
    }
}

} // namespace rivulet
