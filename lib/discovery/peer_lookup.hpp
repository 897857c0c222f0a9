#pragma once

#include "discovery/udp_address.hpp"
#include "platform/log.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rivulet::discovery {

/// Finds the addresses of known peers. Asking the name service may take as long as it likes, so that a thread of its
/// own does ("rivulet-names"), which ends when it is done and outlives this object if it must.
/// Threads: one at a time.
class peer_lookup {
public:
    /// @param peers as in [discovery] known_peers. @param port of those that name none.
    peer_lookup(const std::vector<std::string>& peers, std::uint16_t port, std::shared_ptr<platform::logger> log);

    bool has_peers() const noexcept { return has_peers_; }
    /// Readable when a lookup is done; take() clears it.
    int fd() const noexcept;
    /// Looks all names up again, unless that is being done. A name without an address is a warning.
    void start();
    /// All addresses, those that the last lookup found. @param all_found set to false where a name has none.
    std::vector<udp_address> take(bool& all_found);

private:
    struct state;
    std::shared_ptr<state> state_;
    bool has_peers_ = false;
};

} // namespace rivulet::discovery
