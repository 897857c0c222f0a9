#pragma once

#include <rivulet/config.hpp>
#include <rivulet/export.hpp>

#include <cstdint>
#include <memory>

namespace rivulet {

namespace detail {
class context_impl;
}

/// What became of the datagrams that a context's discovery received (beacons and questions); totals since its start.
struct discovery_stats {
    std::uint64_t received = 0;        ///< of this lab and taken
    std::uint64_t malformed = 0;       ///< no such datagrams, or too large
    std::uint64_t foreign = 0;         ///< of another lab or version
    std::uint64_t refused = 0;         ///< beyond a limit
    std::uint64_t unauthenticated = 0; ///< not made with the lab's session key ([security] session_key)
    std::uint64_t replayed = 0;        ///< authenticated, but seen before, or too old to tell
    std::uint64_t unproven = 0;        ///< authenticated, from somebody who has not answered a question of ours yet
};

/// What outlets and inlets share: configuration, one I/O thread ("rivulet-io"), the ZeroMQ context.
/// A context is a handle; outlets and inlets keep what they use alive, so any order of destruction is safe.
/// Threads: any.
class RIVULET_API context {
public:
    /// Loads the configuration as the tools do (environment, file, defaults). @throws error bad_config.
    context();
    /// @throws error bad_config: a setting out of its range, or a key file that cannot be used.
    explicit context(config settings);

    /// The context that outlets and inlets use when none is given; made at its first use.
    static context& default_context();

    const config& settings() const noexcept;
    /// What discovery received so far. Threads: any.
    discovery_stats discovery() const;

    const std::shared_ptr<detail::context_impl>& impl() const noexcept { return impl_; }

private:
    std::shared_ptr<detail::context_impl> impl_;
};

} // namespace rivulet
