#include <rivulet/context.hpp>

#include "core/context_impl.hpp"

#include <atomic>

namespace rivulet {
namespace {

config checked(config settings) {
    validate(settings);
    return settings;
}

} // namespace

context::context() : context(load_config()) {}

context::context(config settings) : impl_(std::make_shared<detail::context_impl>(checked(std::move(settings)))) {}

context& context::default_context() {
    // Never destroyed: outlets with static storage may outlive anything that is. A forked child has none of its
    // parent's threads and gets one of its own.
    static std::atomic<context*> instance{nullptr};
    context* current = instance.load(std::memory_order_acquire);
    while (!current || current->impl_->fork.in_child()) {
        auto* const fresh = new context();
        if (instance.compare_exchange_strong(current, fresh, std::memory_order_acq_rel))
            return *fresh;
        delete fresh;
    }
    return *current;
}

discovery_stats context::discovery() const {
    const discovery::node_counters c = impl_->discovery.counters();
    return {c.received, c.malformed, c.foreign, c.refused, c.unauthenticated, c.replayed, c.unproven};
}

const config& context::settings() const noexcept { return impl_->settings; }

} // namespace rivulet
