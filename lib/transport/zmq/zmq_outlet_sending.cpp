#include "platform/tsan.hpp"
#include "transport/data_frame.hpp"
#include "transport/io_context.hpp"
#include "transport/zmq/zmq_outlet_link.hpp"
#include "wire/zmq_parts.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <zmq.h>

/// Getting frames out: async from the log, sync from the caller's memory.
namespace rivulet::transport::zmq {
namespace {

constexpr std::size_t frame_payload_bytes = 256u << 10; ///< async: small enough to keep many in a window
constexpr auto look_again = std::chrono::milliseconds(5);
constexpr auto io_thread_patience = std::chrono::seconds(2);

} // namespace

/// One message part. Never blocks and never fails for lack of room: SNDHWM is 0.
void zmq_outlet_link::send_frame(const consumer_lane& lane, wire::bytes_view frame, wire::bytes_view last) {
    if (!lane.plain)
        ::zmq_send(socket_.get(), lane.token.data(), lane.token.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    ::zmq_send(socket_.get(), frame.data(), frame.size(), ZMQ_DONTWAIT | (last.empty() ? 0 : ZMQ_SNDMORE));
    if (!last.empty())
        ::zmq_send(socket_.get(), last.data(), last.size(), ZMQ_DONTWAIT);
}

void zmq_outlet_link::send_status(consumer_lane& lane, wire::frame_kind kind, time_point now) {
    std::array<std::byte, wire::status_frame_capacity> buffer;
    const std::uint64_t next = lane.reader ? lane.next_sequence() : sync_next_;
    send_frame(lane, wire::encode_status({kind, next, local_clock()}, buffer));
    lane.last_sent = now;
}

/// [token][head][payload]: the head is copied by libzmq, the payload is not.
void zmq_outlet_link::send_data(consumer_lane& lane, const wire::data_head& head, wire::bytes_view prefix,
                                const void* payload, std::size_t bytes, frame_flow::slot& slot) {
    if (!lane.plain)
        ::zmq_send(socket_.get(), lane.token.data(), lane.token.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    if (head.column.empty() && prefix.empty()) {
        ::zmq_send(socket_.get(), head.head.data(), head.head.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    } else {
        zmq_msg_t joined;
        ::zmq_msg_init_size(&joined, head.head.size() + head.column.size() + head.tail.size() + prefix.size());
        auto* to = static_cast<std::byte*>(::zmq_msg_data(&joined));
        for (const wire::bytes_view part : {head.head, head.column, head.tail, prefix}) {
            if (!part.empty())
                std::memcpy(to, part.data(), part.size());
            to += part.size();
        }
        ::zmq_msg_send(&joined, socket_.get(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    }
    zmq_msg_t body;
    platform::hand_over(&slot);
    ::zmq_msg_init_data(&body, const_cast<void*>(payload), bytes, frame_flow::release, &slot);
    if (::zmq_msg_send(&body, socket_.get(), ZMQ_DONTWAIT) < 0)
        ::zmq_msg_close(&body); // the socket is going away: released here
}

// --- async ----------------------------------------------------------------------------------------------------------

/// Sends what the log has to every lane with room, at most `frames_each`; true when somebody could take more at once.
bool zmq_outlet_link::pump(time_point now, std::size_t frames_each) {
    if (!environment_.log)
        return false;
    bool more = false;
    for (;;) {
        std::uint64_t reached = UINT64_MAX; // of those who have all there is, the one that looked first
        more = false;
        for_each_lane([&](consumer_lane& lane) {
            if (lane.kicked)
                return;
            if (pump_lane(lane, now, frames_each))
                more = true;
            else if (!lane.starved)
                reached = std::min(reached, lane.reader->position());
        });
        // Without anybody who has all there is and waits for more, the log need not wake us.
        if (more || reached == UINT64_MAX || environment_.log->arm(*this, reached))
            return more;
        if (frames_each != SIZE_MAX || environment_.log->finished())
            return !environment_.log->finished();
    }
}

bool zmq_outlet_link::pump_lane(consumer_lane& lane, time_point now, std::size_t frames) {
    const std::size_t sample_bytes = environment_.info->sample_bytes();
    const auto most = static_cast<std::uint32_t>(
        sample_bytes ? std::clamp<std::size_t>(frame_payload_bytes / sample_bytes, 1, UINT32_MAX) : UINT32_MAX);
    for (; frames > 0; --frames) {
        samples::log_span span = lane.reader->peek(most);
        lane.segment_due |= follow(*environment_.segments, lane.segment, *lane.reader, span);
        if (lane.segment_due && !send_segment(lane, span ? span.position : lane.reader->position(), now))
            return false;
        if (!span)
            return false;
        if (!send_log_frame(lane, span, now))
            return false;
        lane.reader->advance(span.count);
    }
    return lane.reader->lag() > 0;
}

/// Tells a consumer that it has come to another segment; false: not before its window has room.
bool zmq_outlet_link::send_segment(consumer_lane& lane, std::uint64_t position, time_point now) {
    const std::uint64_t next = position - lane.segment->base;
    const std::vector<std::byte> frame = wire::encode_info(describe_stream(environment_, *lane.segment, next, false));
    frame_flow::slot* const slot = take_slot(lane, frame.size());
    if (!slot)
        return false;
    slot->owned = static_cast<std::byte*>(std::malloc(frame.size()));
    std::memcpy(slot->owned, frame.data(), frame.size());
    if (!lane.plain)
        ::zmq_send(socket_.get(), lane.token.data(), lane.token.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    zmq_msg_t body;
    platform::hand_over(slot);
    ::zmq_msg_init_data(&body, slot->owned, frame.size(), frame_flow::release, slot);
    if (::zmq_msg_send(&body, socket_.get(), ZMQ_DONTWAIT | (lane.plain ? 0 : ZMQ_SNDMORE)) < 0)
        ::zmq_msg_close(&body);
    if (!lane.plain) {
        const auto sequence = wire::encode_sequence(next);
        ::zmq_send(socket_.get(), sequence.data(), sequence.size(), ZMQ_DONTWAIT);
    }
    lane.last_sent = now;
    lane.segment_due = false;
    return true;
}

/// nullptr: the lane's window is full, and its room will be told.
frame_flow::slot* zmq_outlet_link::take_slot(consumer_lane& lane, std::size_t bytes) {
    frame_flow::slot* slot = lane.flow->take(bytes);
    if (!slot) {
        lane.starved = lane.flow->starve(bytes);
        if (!lane.starved)
            slot = lane.flow->take(bytes);
    }
    if (slot)
        lane.starved = false;
    return slot;
}

bool zmq_outlet_link::send_log_frame(consumer_lane& lane, const samples::log_span& span, time_point now) {
    const bool text = environment_.log->variable();
    const std::size_t bytes =
        text ? span.offsets().size_bytes() + span.text().size() : static_cast<std::size_t>(span.sample_bytes());
    frame_flow::slot* const slot = take_slot(lane, bytes);
    if (!slot)
        return false;

    std::array<wire::stamp_run, wire::max_stamp_runs> runs;
    const wire::data_header header = describe(span, lane.segment->base, bytes, runs);
    std::array<std::byte, wire::data_head_capacity(wire::max_stamp_runs)> buffer;
    const wire::data_head head = wire::encode_data_head(header, buffer);
    if (text) {
        slot->owned = static_cast<std::byte*>(std::malloc(bytes));
        const auto offsets = std::as_bytes(span.offsets());
        std::memcpy(slot->owned, offsets.data(), offsets.size());
        if (!span.text().empty())
            std::memcpy(slot->owned + offsets.size(), span.text().data(), span.text().size());
        send_data(lane, head, {}, slot->owned, bytes, *slot);
    } else {
        span.seg->add_reference();
        slot->segment = span.seg;
        send_data(lane, head, {}, span.samples(), bytes, *slot);
    }
    lane.last_sent = now;
    return true;
}

/// Behind the end: libzmq copies up to 8 KB of a message before it is written, so its release proves nothing about the
/// last frames. A larger one of a kind that readers ignore does: when it is released, all before it is in the kernel.
void zmq_outlet_link::send_plain_tail() {
    constexpr std::size_t bytes = 16u << 10;
    frame_flow::slot* slot = plain_lane_->flow->take(bytes);
    if (!slot)
        return;
    slot->owned = static_cast<std::byte*>(std::calloc(1, bytes));
    const std::vector<std::byte> frame = wire::encode_padding(bytes);
    std::memcpy(slot->owned, frame.data(), bytes);
    zmq_msg_t body;
    platform::hand_over(slot);
    ::zmq_msg_init_data(&body, slot->owned, bytes, frame_flow::release, slot);
    if (::zmq_msg_send(&body, socket_.get(), ZMQ_DONTWAIT) < 0)
        ::zmq_msg_close(&body);
}

// --- sync -----------------------------------------------------------------------------------------------------------

void zmq_outlet_link::begin_send(const sync_frame& frame, time_point deadline) {
    signal_->go_direct(); // releases wake the pushing thread, not the I/O thread
    const std::lock_guard lock(mutex_);
    const time_point now = platform::clock::now();
    sync_next_ = frame.header.first_sequence + frame.header.count;
    send_deadline_ = deadline;
    next_look_ = deadline;
    for_each_lane([&](consumer_lane& lane) {
        if (lane.kicked)
            return;
        frame_flow::slot* slot = lane.flow->take(frame.payload.size());
        if (!slot)
            return; // still holds an aborted frame
        send_data(lane, frame.head, frame.prefix, frame.payload.data(), frame.payload.size(), *slot);
        lane.sent_sync += frame.header.count;
        lane.last_sent = now;
        lane.flow->retain();
        pending_.push_back({lane.flow, lane.token, lane.plain});
    });
}

bool zmq_outlet_link::progress(time_point now, poll_set& wait) {
    signal_->drain();
    const std::lock_guard lock(mutex_);
    if (pending_.empty())
        return true;
    // A dying connection's frames are released only after this thread has answered for the socket.
    watch_.drain();
    read_subscriptions(now);
    std::erase_if(pending_, [](const pending_frame& p) {
        if (p.flow->in_flight() > 0)
            return false;
        p.flow->abandon();
        return true;
    });
    if (!events_.empty())
        environment_.io->io.post(*this);
    if (pending_.empty())
        return true;
    if (now >= next_look_) {
        kick_late(now, false);
        next_look_ = now + look_again;
    }
    wait.add(signal_->fd(), POLLIN);
    wait.add(socket_fd_, POLLIN);
    wait.at(next_look_);
    return false;
}

/// Disconnects those who still hold the frame: whoever cannot take bytes, or after more patience whoever it is (if
/// nobody is full, libzmq's I/O thread waits for a CPU).
void zmq_outlet_link::kick_late(time_point now, bool all) {
    const bool only_if_full = !all && now < platform::deadline_after(send_deadline_, io_thread_patience);
    for (const pending_frame& p : pending_) {
        if (p.plain) {
            for (const auto& [key, subscriptions] : plain_peers_)
                if (watch_.shut_down({key.first, key.second}, only_if_full) == connection_watch::verdict::shut)
                    ++gone_.kicked;
            continue;
        }
        const auto found = lanes_.find(p.token);
        if (found == lanes_.end() || found->second->kicked)
            continue;
        if (watch_.shut_down(found->second->peer, only_if_full) == connection_watch::verdict::shut) {
            found->second->kicked = true;
            ++gone_.kicked;
        }
    }
}

void zmq_outlet_link::abort_send() {
    const std::lock_guard lock(mutex_);
    send_deadline_ = platform::clock::now() - io_thread_patience; // later looks are as strict
    kick_late(platform::clock::now(), true);
    next_look_ = platform::clock::now() + look_again;
}

} // namespace rivulet::transport::zmq
