#pragma once

#include "platform/event_fd.hpp"
#include "transport/transport.hpp"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::transport::inproc {

/// One inlet attached to (or waiting for) an outlet. The hub's mutex guards all of it but `reader`'s cursor.
struct attachment {
    inlet_environment environment;
    wire::token id;
    std::unique_ptr<samples::log_reader> reader; ///< async: made at the greeting, used by the pulling thread
    std::uint64_t joined_at = 0;
    std::uint64_t sent = 0; ///< sync: samples
    // Sync: the frame being pushed.
    bool pending = false;
    time_point deadline{};
};

/// The meeting place of one outlet and its inlets: shared by both sides' links, so that either may go first.
class hub : public std::enable_shared_from_this<hub> {
public:
    hub(std::string endpoint, const outlet_environment& environment);

    const std::string& endpoint() const noexcept { return endpoint_; }
    /// Greets the inlet; false when the outlet has closed or is full.
    bool attach(const std::shared_ptr<attachment>& inlet);
    /// When it returns, the sink is not called any more.
    void detach(const std::shared_ptr<attachment>& inlet);
    /// The inlet has room again.
    void room_made() noexcept;

    std::size_t size() const;
    bool drained() const;
    void add_stats(outlet_stats& stats) const;
    void begin_send(const sync_frame& frame, time_point deadline);
    bool progress(time_point now, poll_set& wait);
    void abort_send();
    void begin_segment();
    void close();

private:
    using attachments = std::vector<std::shared_ptr<attachment>>;

    consumer_event event(consumer_event::kind what, const attachment& inlet) const;
    start_point start(const wire::hello* hello) const;
    std::uint64_t next_sequence() const;
    void greet(const attachment& inlet, const start_point& begin) const;
    consumer_stats stats_of(const attachment& inlet) const;
    bool deliver(attachment& inlet);
    void retire(const attachment& inlet);
    void drop_pending(bool all, time_point now);

    const std::string endpoint_;
    const outlet_environment environment_;
    platform::event_fd room_;

    mutable std::mutex mutex_;
    attachments inlets_;
    bool closed_ = false;
    outlet_stats gone_; ///< totals of those that left, and counters
    // Sync: the frame being pushed.
    wire::data_view frame_;
    std::size_t frame_bytes_ = 0;
    std::vector<std::byte> joined_; ///< prefix and payload, where there is a prefix
    std::uint64_t sync_next_ = 0;
};

/// Names in use in this process, and inlets that wait for one. Never destroyed.
class directory {
public:
    static directory& instance();

    /// @throws error address_in_use.
    void add(const std::shared_ptr<hub>& h);
    void remove(const std::shared_ptr<hub>& h);
    /// Attaches to the named hub now or as soon as there is one. @return the hub, if it is there.
    void connect(const std::string& name, const std::shared_ptr<attachment>& inlet, std::weak_ptr<hub>* slot);
    void stop_waiting(const std::shared_ptr<attachment>& inlet);

private:
    struct waiting {
        std::string name;
        std::shared_ptr<attachment> inlet;
        std::weak_ptr<hub>* slot;
    };
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<hub>> hubs_;
    std::list<waiting> waiting_;
};

} // namespace rivulet::transport::inproc
