#include <rivulet/context.hpp>

#include "core/context_impl.hpp"

namespace rivulet {

context::context() : context(load_config()) {}

context::context(config settings) : impl_(std::make_shared<detail::context_impl>(std::move(settings))) {}

context& context::default_context() {
    // Never destroyed: outlets with static storage may outlive anything that is.
    static auto* const instance = new context();
    return *instance;
}

const config& context::settings() const noexcept { return impl_->settings; }

} // namespace rivulet
