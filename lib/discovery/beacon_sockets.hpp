#pragma once

#include "discovery/beacon_node.hpp"
#include "discovery/interfaces.hpp"
#include "platform/log.hpp"
#include "platform/unique_fd.hpp"

#include <rivulet/config.hpp>

#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace rivulet::discovery {

/// The sockets of a beacon service, two a family. The `common` one is bound to the port of all beacons, which every
/// process of the host shares: each gets the multicasts and broadcasts, and one of them the unicasts. The `own` one has
/// a port of its own; everything is sent from it, so that answers find this process and no other.
///
/// On this host datagrams go over the loopback interface; what goes out of the others does not come back. Where there
/// is no loopback interface, it does.
/// Threads: one at a time. Nothing blocks.
class beacon_sockets final : public datagram_network {
public:
    beacon_sockets(const config& settings, platform::logger& log);

    /// Makes the sockets and joins the groups. What fails is a warning, the rest goes on.
    void open();
    bool is_open() const noexcept { return open_; }
    void close() noexcept;
    /// All that can become readable: the sockets, and the one that tells of changed interfaces (the last, if any).
    std::vector<int> descriptors() const;
    int changes_fd() const noexcept { return changes_.get(); }

    /// Looks at the interfaces again; true when they have changed.
    bool refresh();
    /// Empties changes_fd().
    void drain_changes() noexcept;

    /// The next datagram of one of descriptors(); its size, or 0 when there is none. More than the buffer holds is cut.
    /// What comes from this host comes from its loopback address, whichever interface it took.
    std::size_t receive(int fd, std::span<std::byte> buffer, reception& how);

    void send_to_all(bytes_view bytes) override;
    void send_to_host(bytes_view bytes) override;
    void send_to(const udp_address& to, bytes_view bytes) override;

private:
    struct sockets {
        platform::unique_fd common;
        platform::unique_fd own;
        udp_address group{};
        bool loops = true; ///< multicasts sent come back to this host
    };
    void open_family(sockets& s);
    bool bind_own(const sockets& s);
    void join(sockets& s, const network_interface& interface);
    void leave_lost_interfaces(const std::vector<network_interface>& now);
    bool send_group(sockets& s, const network_interface& interface, bytes_view bytes);
    /// @param as_it_is it is passed on: not authenticated by us.
    void send_outside(bytes_view bytes, bool loop, bool as_it_is);
    bool send_over_loopback(bytes_view bytes, bool as_it_is);
    void set_loop(sockets& s, bool loop);
    bool mine(const udp_address& address) const noexcept;
    std::optional<udp_address> loopback(bool ipv6) const noexcept;
    bool broadcast(const udp_address& address) const noexcept;
    void complain(const network_interface& interface, const char* what);

    const config settings_;
    platform::logger& log_;
    bool open_ = false;
    std::array<sockets, 2> families_; ///< IPv4, IPv6
    platform::unique_fd changes_;
    std::vector<network_interface> interfaces_;
    std::set<std::pair<bool, std::uint32_t>> joined_; ///< family, interface
    std::set<std::pair<std::string, std::string>> complained_;
};

} // namespace rivulet::discovery
