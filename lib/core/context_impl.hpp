#pragma once

#include "discovery/beacon_service.hpp"
#include "platform/fork_guard.hpp"
#include "service/client.hpp"
#include "service/server.hpp"
#include "transport/io_context.hpp"
#include "transport/policy.hpp"

#include <rivulet/context.hpp>
#include <rivulet/error.hpp>

#include <memory>
#include <optional>

namespace rivulet::detail {

/// What a context handle refers to; kept alive by every outlet and inlet made with it.
class context_impl final : public transport::io_context {
public:
    using transport::io_context::io_context;

    const platform::fork_guard fork;
    service::server services{*this};     ///< answers for all outlets
    service::client_pool clients{*this}; ///< asks for all inlets
    discovery::beacon_service discovery{
        settings, log, io, keys->session_key(),
        [keys = keys](std::string_view endpoint) { return transport::acceptable(endpoint, *keys); }};
};

/// The context for a new outlet or inlet. @throws error closed: it was inherited by a forked child.
inline std::shared_ptr<context_impl> usable(const std::optional<context>& chosen) {
    const auto& impl = chosen ? chosen->impl() : context::default_context().impl();
    if (impl->fork.in_child())
        throw error(errc::closed, "context: it belongs to the parent process; make contexts after fork");
    return impl;
}

} // namespace rivulet::detail
