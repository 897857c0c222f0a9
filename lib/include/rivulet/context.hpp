#pragma once

#include <rivulet/config.hpp>
#include <rivulet/export.hpp>

#include <memory>

namespace rivulet {

namespace detail {
class context_impl;
}

/// What outlets and inlets share: configuration, one I/O thread ("rivulet-io"), the ZeroMQ context.
/// A context is a handle; outlets and inlets keep what they use alive, so any order of destruction is safe.
/// Threads: any.
class RIVULET_API context {
public:
    /// Loads the configuration as the tools do (environment, file, defaults). @throws error bad_config.
    context();
    /// @throws error bad_config: a setting out of its range.
    explicit context(config settings);

    /// The context that outlets and inlets use when none is given; made at its first use.
    static context& default_context();

    const config& settings() const noexcept;

    const std::shared_ptr<detail::context_impl>& impl() const noexcept { return impl_; }

private:
    std::shared_ptr<detail::context_impl> impl_;
};

} // namespace rivulet
