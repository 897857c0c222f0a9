#pragma once

#include "service/server.hpp"

#include <cstdint>
#include <vector>

namespace rivulet::service {

/// The reply to a replay request: samples from .. to - 1 as far as they are kept, and as far as one reply goes (1 MiB,
/// but at least one sample). Who wants more asks again from its `next` on.
std::vector<std::byte> replay(std::uint64_t id, const target::history& kept, std::uint64_t from, std::uint64_t to);

} // namespace rivulet::service
