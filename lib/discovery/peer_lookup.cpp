#include "discovery/peer_lookup.hpp"

#include "platform/event_fd.hpp"
#include "platform/host_port.hpp"

#include <algorithm>
#include <mutex>
#include <netdb.h>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace rivulet::discovery {

struct peer_lookup::state {
    std::vector<platform::host_port> peers;
    std::shared_ptr<platform::logger> log;
    platform::event_fd done;
    std::mutex mutex;
    bool running = false;
    bool all_found = true;
    std::vector<udp_address> found;

    void look_up();
};

namespace {

/// Why there is none, or "".
std::string addresses_of(const platform::host_port& peer, std::vector<udp_address>& out) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* list = nullptr;
    const int failed = ::getaddrinfo(peer.host.c_str(), nullptr, &hints, &list);
    if (failed != 0)
        return ::gai_strerror(failed);
    for (const addrinfo* entry = list; entry; entry = entry->ai_next)
        if (auto address = from_sockaddr(entry->ai_addr)) {
            address->port = peer.port;
            if (std::ranges::find(out, *address) == out.end())
                out.push_back(*address);
        }
    ::freeaddrinfo(list);
    return "";
}

} // namespace

void peer_lookup::state::look_up() {
    std::vector<udp_address> addresses;
    bool all = true;
    for (const platform::host_port& peer : peers) {
        const std::string why = addresses_of(peer, addresses);
        if (why.empty())
            continue;
        all = false;
        log->warn("discovery_peer", {{"peer", peer.host}}, "known peer has no address yet, trying again: " + why);
    }
    {
        const std::lock_guard lock(mutex);
        found = std::move(addresses);
        all_found = all;
        running = false;
    }
    done.set();
}

peer_lookup::peer_lookup(const std::vector<std::string>& peers, std::uint16_t port,
                         std::shared_ptr<platform::logger> log)
    : has_peers_(!peers.empty()) {
    if (!has_peers_)
        return;
    state_ = std::make_shared<state>();
    state_->log = std::move(log);
    for (const std::string& text : peers)
        if (auto peer = platform::parse_host_port(text)) {
            if (peer->port == 0)
                peer->port = port;
            state_->peers.push_back(std::move(*peer));
        }
}

int peer_lookup::fd() const noexcept { return state_ ? state_->done.get() : -1; }

void peer_lookup::start() {
    if (!state_)
        return;
    {
        const std::lock_guard lock(state_->mutex);
        if (std::exchange(state_->running, true))
            return;
    }
    try {
        std::thread([shared = state_] {
            ::pthread_setname_np(::pthread_self(), "rivulet-names");
            shared->look_up();
        }).detach();
    } catch (const std::system_error&) { // no thread to be had: the next time, perhaps
        const std::lock_guard lock(state_->mutex);
        state_->running = false;
        state_->all_found = false;
    }
}

std::vector<udp_address> peer_lookup::take(bool& all_found) {
    if (!state_)
        return {};
    state_->done.clear();
    const std::lock_guard lock(state_->mutex);
    all_found = state_->all_found;
    return state_->found;
}

} // namespace rivulet::discovery
