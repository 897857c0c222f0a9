#pragma once

#include "samples/sample_log.hpp"
#include "transport/stream_segments.hpp"
#include "transport/zmq/connection_watch.hpp"
#include "transport/zmq/frame_flow.hpp"
#include "wire/frame.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace rivulet::transport::zmq {

/// One consumer of a ZeroMQ outlet: its token, its connection, its own cursor in the log and its own frames in flight,
/// so that it can slow down nobody but itself. Plain SUB clients, which have no token, share one.
/// Guarded by the link's lock.
struct consumer_lane {
    consumer_lane(const wire::token* t, frame_flow* f) : plain(t == nullptr), token(t ? *t : wire::token{}), flow(f) {}
    ~consumer_lane() { flow->abandon(); }
    consumer_lane(const consumer_lane&) = delete;
    consumer_lane& operator=(const consumer_lane&) = delete;

    const bool plain;
    const wire::token token; ///< what its messages begin with; not for the plain lane
    frame_flow* const flow;
    std::string id, name, address;
    connection peer;
    int subscriptions = 1;                       ///< to the token: two while a reconnect overlaps the old connection
    std::unique_ptr<samples::log_reader> reader; ///< async
    segment_share segment;                       ///< that it is in
    bool segment_due = false;                    ///< it has not been told of that yet
    std::uint64_t joined_at = 0;
    std::uint64_t sent_sync = 0; ///< sync: samples
    platform::time_point last_sent{};
    bool starved = false; ///< async: its window is full
    bool kicked = false;  ///< shut down; its end of subscription has not been seen yet
    bool ended = false;   ///< the end frame is sent

    /// Of the next sample that it gets. Async.
    std::uint64_t next_sequence() const noexcept { return reader->position() - segment->base; }
    bool caught_up() const noexcept { return !reader || reader->lag() == 0; }
    std::uint64_t dropped() const { return reader ? reader->dropped() : 0; }
    std::uint64_t sent() const noexcept {
        return reader ? reader->position() - joined_at - reader->total_lost() : sent_sync;
    }
    /// Samples that it could still get.
    std::uint64_t waiting() const { return reader ? reader->lag() - reader->out_of_window() : 0; }
};

} // namespace rivulet::transport::zmq
