#pragma once

#include "discovery/udp_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rivulet::discovery {

/// A network interface that is up.
struct network_interface {
    std::uint32_t index = 0;
    std::string name{};
    bool loopback = false;
    bool multicast = false;
    std::vector<udp_address> addresses{};
    std::vector<udp_address> broadcasts{};

    bool has(bool ipv6) const noexcept;
    friend bool operator==(const network_interface&, const network_interface&) = default;
};

/// All that are up and have an address, by index. Asks the kernel; does not block. Empty when it cannot be asked.
std::vector<network_interface> list_interfaces();

} // namespace rivulet::discovery
