#pragma once

#include "discovery/beacon_node.hpp"
#include "discovery/beacon_sockets.hpp"
#include "discovery/peer_lookup.hpp"
#include "platform/fork_guard.hpp"
#include "platform/log.hpp"
#include "platform/reactor.hpp"

#include <rivulet/config.hpp>
#include <rivulet/resolver.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::discovery {

/// Somebody who wants to know what streams there are. Called on the I/O thread, one call at a time; must be brief.
class stream_listener {
public:
    virtual ~stream_listener() = default;
    /// Streams that were there before the listener are told as appeared.
    virtual void on_stream(const stream_event& event) = 0;
    /// Once: all who answered have told everything, and nobody new was heard for 0.3 s.
    virtual void on_settled() {}
};

/// A context's beacon service: drives a beacon_node with sockets and time, on the context's I/O thread. Sockets are
/// made when the first stream is advertised or the first listener comes, and closed some seconds after the last has
/// gone. Threads: any.
class beacon_service final : public platform::io_handler {
public:
    /// @param session_key datagrams are authenticated with it; null: plain. @param acceptable whether an endpoint that
    /// others advertise may be used; empty: all.
    beacon_service(const config& settings, std::shared_ptr<platform::logger> log, platform::reactor& io,
                   const security::secret_bytes* session_key = nullptr,
                   std::function<bool(std::string_view)> acceptable = {});
    /// No stream is advertised and no listener is there any more.
    ~beacon_service() override;

    bool enabled() const noexcept { return settings_.discovery.enabled; }

    /// Makes a stream known until withdraw(uid); the same uid again changes it. Costs some microseconds; the I/O thread
    /// sends. Wildcard hosts in endpoints stand for whatever address the beacons are seen to come from.
    void advertise(const advert& a);
    /// Says goodbye before it returns.
    void withdraw(const std::string& uid);

    /// What became of the datagrams that came.
    node_counters counters() const;

    /// Begins to search, and calls until remove(). @throws error not_supported: discovery is off.
    void add(stream_listener& listener);
    /// When it returns, no call is running (unless made by this very thread) and none will come. Never call it with a
    /// lock held that the listener's calls take.
    void remove(stream_listener& listener) noexcept;
    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;

private:
    struct entry {
        stream_listener* listener;
        bool fresh = true; ///< has not been told yet what is there
        bool settled = false;
    };
    bool needed_locked() const noexcept { return node_.advertised() != 0 || !listeners_.empty(); }
    void open_locked(platform::time_point now);
    void close_locked() noexcept;
    void receive_locked(int fd, platform::time_point now);
    void look_at_interfaces_locked(platform::time_point now);
    void look_at_peers_locked(platform::time_point now);
    void reschedule_locked();
    void deliver(platform::time_point now);
    bool still_listens(const stream_listener* listener) const;

    const config settings_;
    const platform::fork_guard fork_;
    const std::shared_ptr<platform::logger> log_;
    platform::reactor& io_;

    mutable std::mutex mutex_; ///< of all below but delivery_
    beacon_sockets sockets_;
    beacon_node node_;
    peer_lookup peers_;
    std::vector<entry> listeners_;
    platform::time_point look_at_interfaces_ = platform::time_point::max();
    platform::time_point look_up_peers_ = platform::time_point::max();
    platform::time_point close_at_ = platform::time_point::max();

    std::recursive_mutex delivery_; ///< held while listeners are called; taken before mutex_
};

} // namespace rivulet::discovery
