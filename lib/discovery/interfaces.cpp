#include "discovery/interfaces.hpp"

#include <algorithm>
#include <ifaddrs.h>
#include <map>
#include <memory>
#include <net/if.h>

namespace rivulet::discovery {

namespace {

/// By the mask: what the system calls the broadcast address is the address itself where none was configured.
std::optional<udp_address> broadcast_of(udp_address address, const std::optional<udp_address>& mask) {
    if (!mask || mask->ipv6 || mask->bytes[3] >= 254) // a network of one or two has none
        return std::nullopt;
    for (std::size_t i = 0; i < address.size(); ++i)
        address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] | ~mask->bytes[i]);
    return address;
}

} // namespace

bool network_interface::has(bool ipv6) const noexcept {
    return std::ranges::any_of(addresses, [=](const udp_address& a) { return a.ipv6 == ipv6; });
}

std::vector<network_interface> list_interfaces() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
    std::map<std::uint32_t, network_interface> found;
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        const auto address = from_sockaddr(entry->ifa_addr);
        if (!address || (entry->ifa_flags & IFF_UP) == 0)
            continue;
        const auto known = std::ranges::find_if(found, [&](const auto& e) { return e.second.name == entry->ifa_name; });
        const std::uint32_t index = known != found.end() ? known->first : ::if_nametoindex(entry->ifa_name);
        if (index == 0)
            continue;
        network_interface& interface = found[index];
        interface.index = index;
        interface.name = entry->ifa_name;
        interface.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        interface.multicast = (entry->ifa_flags & IFF_MULTICAST) != 0;
        interface.addresses.push_back(*address);
        if ((entry->ifa_flags & IFF_BROADCAST) != 0 && !address->ipv6)
            if (const auto broadcast = broadcast_of(*address, from_sockaddr(entry->ifa_netmask)))
                interface.broadcasts.push_back(*broadcast);
    }
    std::vector<network_interface> out;
    for (auto& [index, interface] : found)
        out.push_back(std::move(interface));
    return out;
}

} // namespace rivulet::discovery
