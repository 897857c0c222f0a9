#include <rivulet/outlet.hpp>

#include "core/outlet_impl.hpp"

#include <vector>

namespace rivulet {
namespace {

detail::outlet_impl& alive(const std::unique_ptr<detail::outlet_impl>& impl) {
    if (!impl) [[unlikely]]
        throw error(errc::closed, "outlet: this handle was moved from");
    return *impl;
}

/// A forked child must not touch sockets and threads that are its parent's: it lets go of them without a word.
/// The handle itself changes only when no callback runs any more that may use it.
void let_go(std::unique_ptr<detail::outlet_impl>& impl) noexcept {
    if (!impl)
        return;
    if (impl->inert())
        return (void)impl.release();
    impl->stop();
    impl.reset();
}

template<class Text>
std::vector<std::string_view> views_of(const Text* values, std::size_t count) {
    return {values, values + count};
}

void check_one_sample(const detail::outlet_impl& impl, std::size_t count) {
    if (count != impl.info().channel_count) [[unlikely]]
        throw error(errc::shape_mismatch, "outlet \"" + impl.info().name + "\": one sample has " +
                                              std::to_string(impl.info().channel_count) + " values, got " +
                                              std::to_string(count));
}

} // namespace

outlet::outlet(stream_info info, outlet_options options)
    : impl_(std::make_unique<detail::outlet_impl>(std::move(info), std::move(options))) {}
outlet::~outlet() { let_go(impl_); }
outlet::outlet(outlet&&) noexcept = default;
outlet& outlet::operator=(outlet&& other) noexcept {
    if (this != &other) {
        let_go(impl_);
        impl_ = std::move(other.impl_);
    }
    return *this;
}

void outlet::push_sample(std::string_view text, double stamp) {
    auto& impl = alive(impl_);
    check_one_sample(impl, 1);
    impl.push_text({&text, 1}, {{}, stamp});
}

void outlet::push_sample(std::span<const std::byte> bytes, double stamp) {
    push_sample(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), stamp);
}

void outlet::push_one(const void* values, channel_format element, std::size_t count, double stamp) {
    alive(impl_).push_one(values, element, count, stamp);
}

void outlet::push_many(const void* values, channel_format element, std::size_t count, double stamp) {
    alive(impl_).push_values(values, element, count, {{}, stamp});
}

void outlet::push_many(const void* values, channel_format element, std::size_t count, std::span<const double> stamps) {
    if (stamps.empty() && count != 0)
        throw error(errc::shape_mismatch, "outlet \"" + alive(impl_).info().name + "\": got no stamps for " +
                                              std::to_string(count) + " values; give one stamp a sample");
    alive(impl_).push_values(values, element, count, {stamps, 0.0});
}

void outlet::push_text(const std::string_view* values, std::size_t count, double stamp, bool one_sample) {
    auto& impl = alive(impl_);
    if (one_sample)
        check_one_sample(impl, count);
    impl.push_text({values, count}, {{}, stamp});
}

void outlet::push_text(const std::string* values, std::size_t count, double stamp, bool one_sample) {
    const auto views = views_of(values, count);
    push_text(views.data(), views.size(), stamp, one_sample);
}

void outlet::push_text(const std::string_view* values, std::size_t count, std::span<const double> stamps) {
    if (stamps.empty() && count != 0)
        throw error(errc::shape_mismatch, "outlet \"" + alive(impl_).info().name + "\": got no stamps for " +
                                              std::to_string(count) + " values; give one stamp a sample");
    alive(impl_).push_text({values, count}, {stamps, 0.0});
}

void outlet::push_text(const std::string* values, std::size_t count, std::span<const double> stamps) {
    const auto views = views_of(values, count);
    push_text(views.data(), views.size(), stamps);
}

bool outlet::has_consumers() const { return consumer_count() > 0; }
std::size_t outlet::consumer_count() const { return alive(impl_).consumer_count(); }
bool outlet::wait_for_consumers(std::chrono::nanoseconds timeout, std::size_t count) const {
    return alive(impl_).wait_for_consumers(timeout, count);
}
void outlet::on_consumer(std::function<void(const consumer_event&)> callback) {
    alive(impl_).set_consumer_callback(std::move(callback));
}
void outlet::on_control(std::function<control_reply(const control_request&)> handler, control_thread thread) {
    alive(impl_).set_control_handler(std::move(handler), thread);
}
bool outlet::flush(std::chrono::nanoseconds timeout) const { return alive(impl_).flush(timeout); }
void outlet::reset_uid() {
    auto& impl = alive(impl_);
    impl.begin_segment(impl.info(), 0);
}
void outlet::begin_segment(const stream_info& next, std::uint64_t first_sequence) {
    alive(impl_).begin_segment(next, first_sequence);
}
void outlet::skip_to(std::uint64_t sequence) { alive(impl_).skip_to(sequence); }
const stream_info& outlet::info() const noexcept {
    static const stream_info none;
    return impl_ ? impl_->info() : none;
}
std::vector<std::string> outlet::endpoints() const { return alive(impl_).endpoints(); }
std::vector<std::string> outlet::service_endpoints() const { return alive(impl_).service_endpoints(); }
outlet_stats outlet::stats() const { return alive(impl_).stats(); }
void outlet::stop() {
    if (impl_)
        impl_->stop();
}
void outlet::stop(std::chrono::nanoseconds linger) {
    if (impl_)
        impl_->stop(linger);
}

} // namespace rivulet
