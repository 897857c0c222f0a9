#pragma once

#include <cstddef>

namespace rivulet::platform {

/// Raises the soft limit of open descriptors to the hard one, at most to 2^20 (beyond that, programs that close every
/// possible descriptor before exec take seconds). Tried once a process: what the program sets later stays.
/// Returns the soft limit in force. Threads: any.
std::size_t raise_fd_limit() noexcept;

/// How many more descriptors this process may open; 0 also where that cannot be found out for lack of one.
/// Cost: reads /proc/self/fd, microseconds and about 0.1 us for each open descriptor. Threads: any.
std::size_t fd_headroom() noexcept;

} // namespace rivulet::platform
