#include "transport/data_frame.hpp"
#include "transport/io_context.hpp"
#include "transport/posix/posix_outlet_link.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <array>
#include <poll.h>
#include <sys/epoll.h>

/// Getting frames out: async from the log, sync from the caller's memory. One sendmsg a frame.
namespace rivulet::transport::posix {
namespace {

/// Sync: a peer without a hello is no consumer, and delays nobody for longer.
constexpr auto plain_push_patience = std::chrono::milliseconds(200);

} // namespace

/// After an attempt to write: watches for room, or notes that the peer is gone.
void posix_outlet_link::wrote(peer& p, written result, time_point now) {
    p.last_sent = now;
    switch (result) {
    case written::broken: p.broken = true; return;
    case written::partly:
        if (p.stalled_since == time_point::max())
            p.stalled_since = now;
        break;
    case written::all: p.stalled_since = time_point::max(); break;
    }
    const bool wanted = result == written::partly;
    if (!p.in_push && wanted != p.watches_output && !closing_) {
        environment_.io->io.change(p.fd.get(), EPOLLIN | (wanted ? EPOLLOUT : 0u));
        p.watches_output = wanted;
    }
}

/// Goes on with a frame that the kernel took in part.
void posix_outlet_link::resume(peer& p, time_point now) {
    if (p.out.empty() || p.in_push || p.push_due)
        return;
    const std::size_t before = p.out.left();
    const written result = p.out.resume(p.fd.get());
    if (p.out.left() < before)
        p.stalled_since = time_point::max(); // slow, but alive
    wrote(p, result, now);
    if (!p.broken && p.out.empty() && p.wants_greeting)
        greet(p, now);
}

void posix_outlet_link::send_status(peer& p, wire::frame_kind kind, time_point now) {
    std::array<std::byte, wire::status_frame_capacity> buffer;
    const std::uint64_t next = p.reader ? p.next_sequence() : sync_next_;
    const std::array<wire::bytes_view, 1> pieces{wire::encode_status({kind, next, local_clock()}, buffer)};
    wrote(p, p.out.send(p.fd.get(), pieces, pieces.size()), now);
}

// --- async ----------------------------------------------------------------------------------------------------------

/// Sends what the log has to everybody with room, at most `frames_each`; true when somebody could take more at once.
bool posix_outlet_link::pump(time_point now, std::size_t frames_each) {
    if (!environment_.log)
        return false;
    for (;;) {
        std::uint64_t reached = UINT64_MAX; // of those who have all there is, the one that looked first
        bool more = false;
        for (const auto& [fd, p] : peers_) {
            if (p->broken || p->ended)
                continue;
            if (pump_peer(*p, now, frames_each))
                more = true;
            else if (p->out.empty())
                reached = std::min(reached, p->reader->position());
        }
        if (more || reached == UINT64_MAX || environment_.log->arm(*this, reached))
            return more;
        if (frames_each != SIZE_MAX || environment_.log->finished())
            return !environment_.log->finished();
    }
}

bool posix_outlet_link::pump_peer(peer& p, time_point now, std::size_t frames) {
    for (; frames > 0 && p.out.empty() && !p.broken; --frames) {
        samples::log_span span = p.reader->peek();
        if (follow(*environment_.segments, p.segment, *p.reader, span)) {
            send_info(p, (span ? span.position : p.reader->position()) - p.segment->base, now);
            if (!p.out.empty() || p.broken)
                return false;
        }
        if (!span)
            return false;
        send_log_frame(p, span, now);
        p.reader->advance(span.count);
    }
    return p.out.empty() && !p.broken && p.reader->lag() > 0;
}

void posix_outlet_link::send_log_frame(peer& p, const samples::log_span& span, time_point now) {
    const bool text = environment_.log->variable();
    const auto offsets = text ? std::as_bytes(span.offsets()) : wire::bytes_view();
    const wire::bytes_view values = text ? span.text() : wire::bytes_view(span.samples(), span.sample_bytes());

    std::array<wire::stamp_run, wire::max_stamp_runs> runs;
    const wire::data_header header = describe(span, p.segment->base, offsets.size() + values.size(), runs);
    std::array<std::byte, wire::data_head_capacity(wire::max_stamp_runs)> buffer;
    const wire::data_head head = wire::encode_data_head(header, buffer);
    // The column, offsets and values lie in the segment; the tail lies in the buffer, behind the column.
    const std::array<wire::bytes_view, 5> pieces{head.head, head.column, head.tail, offsets, values};
    wrote(p, p.out.send(p.fd.get(), pieces, 3, span.seg), now);
}

// --- sync -----------------------------------------------------------------------------------------------------------

void posix_outlet_link::begin_send(const sync_frame& frame, time_point deadline) {
    const std::lock_guard lock(mutex_);
    const time_point now = platform::clock::now();
    sync_next_ = frame.header.first_sequence + frame.header.count;
    push_pieces_ = {frame.head.head, frame.head.column, frame.head.tail, frame.prefix, frame.payload};
    push_count_ = frame.header.count;
    for (const auto& [fd, p] : peers_) {
        if (p->broken)
            continue;
        p->deadline = p->counted ? deadline : std::min(deadline, now + plain_push_patience);
        p->push_due = true;
        if (ready_for_push(*p, now)) // else its info frame goes first
            send_push_frame(*p, now);
    }
}

/// Nothing goes before the next push; an info frame that is due is sent first.
bool posix_outlet_link::ready_for_push(peer& p, time_point now) {
    if (p.segment_due && p.out.empty()) {
        p.segment_due = false;
        send_info(p, 0, now);
    }
    return p.out.empty();
}

/// The frame of the push under way. Its head is copied if it does not get out at once, the caller's memory never is.
void posix_outlet_link::send_push_frame(peer& p, time_point now) {
    p.push_due = false;
    const written result = p.out.send(p.fd.get(), push_pieces_, push_pieces_.size() - 1);
    p.sent_sync += push_count_;
    p.in_push = result == written::partly;
    wrote(p, result, now);
}

bool posix_outlet_link::progress(time_point now, poll_set& wait) {
    const std::lock_guard lock(mutex_);
    bool done = true;
    bool news = false;
    for (const auto& [fd, p] : peers_) {
        if ((p->in_push || p->push_due) && !p->broken) {
            const written result = p->out.empty() ? written::all : p->out.resume(fd);
            p->in_push = p->in_push && result == written::partly;
            wrote(*p, result, now);
            if (p->push_due && result == written::all && ready_for_push(*p, now))
                send_push_frame(*p, now);
            if ((p->in_push || p->push_due) && now >= p->deadline)
                p->broken = p->kicked = true;
        }
        if (p->broken) {
            if (p->in_push)
                p->out.clear(); // the caller's memory is no longer referred to
            p->in_push = p->push_due = false;
        }
        news |= p->broken || p->wants_greeting;
        if (p->in_push || p->push_due) {
            done = false;
            wait.add(fd, POLLOUT);
            wait.at(p->deadline);
        }
    }
    if (news)
        environment_.io->io.post(*this);
    return done;
}

void posix_outlet_link::abort_send() {
    const std::lock_guard lock(mutex_);
    for (const auto& [fd, p] : peers_)
        if (p->in_push || p->push_due)
            p->broken = p->kicked = true;
}

} // namespace rivulet::transport::posix
