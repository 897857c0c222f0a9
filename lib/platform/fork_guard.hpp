#pragma once

#include <cstdint>

namespace rivulet::platform {

/// Remembers the process it was made in, so that handles which a forked child inherited can stay inert: their threads
/// do not exist there and their sockets are the parent's. Sees fork(), not vfork() or a bare clone().
/// Threads: any. in_child() costs one load.
class fork_guard {
public:
    fork_guard() noexcept;
    bool in_child() const noexcept;

private:
    std::uint32_t generation_;
};

} // namespace rivulet::platform
