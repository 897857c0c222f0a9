#include <rivulet/resolver.hpp>

#include "core/resolver_impl.hpp"
#include "platform/text.hpp"

#include <fmt/format.h>

namespace rivulet {
namespace {

detail::resolver_impl& alive(const std::unique_ptr<detail::resolver_impl>& impl) {
    if (!impl) [[unlikely]]
        throw error(errc::closed, "resolver: this handle was moved from");
    return *impl;
}

/// A forked child must not touch what is its parent's: it lets go of it without a word.
void let_go(std::unique_ptr<detail::resolver_impl>& impl) noexcept {
    if (impl && impl->inert())
        (void)impl.release();
    impl.reset();
}

std::string list_of(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names)
        out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", platform::printable(name));
    return out;
}

} // namespace

std::vector<found_stream> resolve(const stream_selector& selector, const resolve_options& options) {
    const detail::resolver_impl search(selector, options.ctx, false);
    if (options.minimum == 0)
        search.wait_until_settled(options.timeout);
    else
        search.wait_for(options.minimum, options.timeout);
    return search.streams();
}

found_stream resolve_one(const stream_selector& selector, std::chrono::nanoseconds timeout,
                         const std::optional<context>& ctx) {
    const detail::resolver_impl search(selector, ctx, false);
    search.wait_for(1, timeout);
    if (auto found = search.streams(); !found.empty())
        return std::move(found.front());
    const std::vector<std::string> others = search.others();
    const auto& impl = ctx ? ctx->impl() : context::default_context().impl();
    throw error(errc::not_connected,
                fmt::format("resolve: no stream with {} within {:.3g} s in session \"{}\"; {}", to_string(selector),
                            std::chrono::duration<double>(timeout).count(), impl->settings.session.name,
                            !others.empty() ? "seen were " + list_of(others)
                            : impl->discovery.counters().unauthenticated > 0
                                ? "beacons were heard, but not made with this program's session key: [security] "
                                  "session_key has to be the same everywhere"
                                : "nothing else was seen either: check that the outlet runs, the session's name, and "
                                  "that UDP gets through"));
}

resolver::resolver(stream_selector selector, std::optional<context> ctx)
    : impl_(std::make_unique<detail::resolver_impl>(std::move(selector), ctx)) {}
resolver::~resolver() { let_go(impl_); }
resolver::resolver(resolver&&) noexcept = default;
resolver& resolver::operator=(resolver&& other) noexcept {
    if (this != &other) {
        let_go(impl_);
        impl_ = std::move(other.impl_);
    }
    return *this;
}

std::vector<found_stream> resolver::streams() const { return alive(impl_).streams(); }
std::vector<stream_event> resolver::take_events() { return alive(impl_).take_events(); }
void resolver::on_event(std::function<void(const stream_event&)> callback) {
    alive(impl_).set_callback(std::move(callback));
}
bool resolver::wait_for(std::size_t count, std::chrono::nanoseconds timeout) const {
    return alive(impl_).wait_for(count, timeout);
}
bool resolver::wait_until_settled(std::chrono::nanoseconds timeout) const {
    return alive(impl_).wait_until_settled(timeout);
}
bool resolver::settled() const { return alive(impl_).settled(); }
std::vector<std::string> resolver::others() const { return alive(impl_).others(); }
int resolver::wait_fd() const { return alive(impl_).wait_fd(); }
void resolver::close() {
    if (impl_)
        impl_->close();
}

} // namespace rivulet
