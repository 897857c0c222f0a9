#include "transport/io_context.hpp"
#include "transport/zmq/zmq_outlet_link.hpp"
#include "wire/zmq_parts.hpp"

#include <rivulet/clock.hpp>

#include <algorithm>
#include <cstring>
#include <zmq.h>

/// Who is there: what an XPUB socket tells of its subscribers.
namespace rivulet::transport::zmq {
namespace {

constexpr std::uint32_t max_topics_a_peer = 64;
constexpr std::size_t max_hellos = 4096;
constexpr auto plain_info_interval = std::chrono::seconds(1);

std::string address_of(const char* metadata, const connection& peer) {
    if (metadata)
        return metadata;
    return peer.serial ? "fd " + std::to_string(peer.fd) : std::string();
}

} // namespace

std::uint64_t zmq_outlet_link::next_sequence() const {
    return environment_.log ? start(nullptr).sequence() : sync_next_;
}

void zmq_outlet_link::read_subscriptions(time_point now) {
    zmq_msg_t message;
    ::zmq_msg_init(&message);
    while (::zmq_msg_recv(&message, socket_.get(), ZMQ_DONTWAIT) >= 0) {
        watch_.drain(); // ACCEPTED comes before anything that the connection sends
        const auto* bytes = static_cast<const std::byte*>(::zmq_msg_data(&message));
        const std::size_t size = ::zmq_msg_size(&message);
        if (size == 0 || std::to_integer<int>(bytes[0]) > 1) {
            ++gone_.ignored;
            continue;
        }
        const bool subscribe = bytes[0] == std::byte{1};
        const connection peer = watch_.find(::zmq_msg_get(&message, ZMQ_SRCFD));
        if (subscribe)
            count_subscription(peer);
        handle_subscription(subscribe, {bytes + 1, size - 1}, peer, ::zmq_msg_gets(&message, "Peer-Address"), now);
    }
    ::zmq_msg_close(&message);
}

/// An honest peer subscribes to a handful of topics; each one costs us memory and every send time.
void zmq_outlet_link::count_subscription(const connection& peer) {
    if (peer.serial == 0)
        return;
    if (++topics_[{peer.fd, peer.serial}] > max_topics_a_peer) {
        ++gone_.ignored;
        watch_.shut_down(peer, false);
    }
    if (topics_.size() > 2 * lanes_.size() + 64)
        std::erase_if(topics_, [&](const auto& t) { return !watch_.alive({t.first.first, t.first.second}); });
}

void zmq_outlet_link::handle_subscription(bool subscribe, wire::bytes_view topic, const connection& peer,
                                          const char* address, time_point now) {
    const int first = topic.empty() ? wire::frame_first_byte : std::to_integer<int>(topic[0]);
    if (first == wire::frame_first_byte) {
        if (subscribe)
            plain_subscribed(peer, now);
        else if (const auto it = plain_peers_.find({peer.fd, peer.serial});
                 it != plain_peers_.end() && --it->second == 0)
            plain_peers_.erase(it);
        return;
    }
    if (first == wire::token_first_byte && topic.size() == wire::token_bytes) {
        wire::token token;
        std::ranges::copy(topic, token.begin());
        return subscribe ? join(token, peer, address, now) : leave(token, peer);
    }
    wire::hello hello;
    if (first == wire::hello_first_byte && wire::decode_hello(topic, hello) == wire::frame_error::none) {
        if (!subscribe)
            hellos_.erase(hello.tok);
        else if (hellos_.size() < max_hellos)
            hellos_[hello.tok] = std::move(hello);
        return;
    }
    if (subscribe)
        ++gone_.ignored;
}

std::unique_ptr<consumer_lane> zmq_outlet_link::make_lane(const wire::token* token) const {
    const auto& settings = environment_.io->settings.zmq;
    auto* flow = frame_flow::make(environment_.log ? settings.window_frames : 1,
                                  environment_.log ? settings.window_bytes : SIZE_MAX, signal_);
    if (!environment_.log)
        flow->signal_always();
    return std::make_unique<consumer_lane>(token, flow);
}

start_point zmq_outlet_link::start(const wire::hello* hello) const {
    if (environment_.log)
        return start_of(environment_, hello);
    return {environment_.segments->current(), 0};
}

void zmq_outlet_link::join(const wire::token& token, const connection& peer, const char* address, time_point now) {
    if (const auto found = lanes_.find(token); found != lanes_.end()) {
        // It is back before its old connection was seen to end: what was in flight there is lost for it.
        consumer_lane& lane = *found->second;
        ++lane.subscriptions;
        lane.peer = peer;
        lane.kicked = false;
        lane.segment_due = false;
        return greet(lane, lane.reader ? lane.next_sequence() : next_sequence(), now);
    }
    if (closing_)
        return;
    if (lanes_.size() >= environment_.max_consumers) {
        ++gone_.ignored;
        watch_.shut_down(peer, false);
        return;
    }
    const auto hello = hellos_.find(token);
    auto lane = make_lane(&token);
    lane->id = wire::to_string(token);
    lane->name = hello == hellos_.end() ? std::string() : hello->second.name;
    lane->address = address_of(address, peer);
    lane->peer = peer;
    const start_point begin = start(hello == hellos_.end() ? nullptr : &hello->second);
    lane->segment = begin.segment;
    lane->joined_at = begin.position;
    if (environment_.log)
        lane->reader =
            std::make_unique<samples::log_reader>(environment_.log, lane->joined_at, environment_.wait_for_slow);
    consumer_lane& added = *lane;
    lanes_.emplace(token, std::move(lane));
    count_.fetch_add(1, std::memory_order_release);
    greet(added, environment_.log ? begin.sequence() : sync_next_, now);
    tell(consumer_event::kind::joined, added);
}

void zmq_outlet_link::leave(const wire::token& token, const connection&) {
    const auto found = lanes_.find(token);
    if (found == lanes_.end() || --found->second->subscriptions > 0)
        return;
    drop_lane(*found->second);
    lanes_.erase(found);
}

void zmq_outlet_link::drop_lane(consumer_lane& lane) {
    gone_.sent += lane.sent();
    gone_.dropped += lane.dropped();
    ++gone_.consumers;
    count_.fetch_sub(1, std::memory_order_release);
    tell(lane.kicked ? consumer_event::kind::kicked : consumer_event::kind::left, lane);
}

void zmq_outlet_link::greet(consumer_lane& lane, std::uint64_t first, time_point now) {
    const std::vector<std::byte> frame = wire::encode_info(describe_stream(environment_, *lane.segment, first, false));
    send_frame(lane, frame, wire::encode_sequence(first));
    lane.last_sent = now;
}

// --- plain SUB clients ----------------------------------------------------------------------------------------------

void zmq_outlet_link::plain_subscribed(const connection& peer, time_point now) {
    ++plain_peers_[{peer.fd, peer.serial}];
    if (!plain_lane_) {
        plain_lane_ = make_lane(nullptr);
        const start_point begin = start(nullptr);
        plain_lane_->segment = begin.segment;
        plain_lane_->joined_at = begin.position;
        if (environment_.log)
            plain_lane_->reader =
                std::make_unique<samples::log_reader>(environment_.log, begin.position, environment_.wait_for_slow);
        plain_lane_->last_sent = now;
    }
    plain_info_due_ =
        std::min(plain_info_due_,
                 std::max(now, plain_info_sent_ == time_point::min() ? now : plain_info_sent_ + plain_info_interval));
}

void zmq_outlet_link::send_plain_info(time_point now) {
    plain_info_due_ = time_point::max();
    if (!plain_lane_)
        return;
    const std::uint64_t next = plain_lane_->reader ? plain_lane_->next_sequence() : sync_next_;
    send_frame(*plain_lane_, wire::encode_info(describe_stream(environment_, *plain_lane_->segment, next, false)));
    plain_info_sent_ = now;
}

/// Plain subscribers have no token that would tell of their end; their connections do.
void zmq_outlet_link::forget_dead_plain_peers() {
    std::erase_if(plain_peers_, [&](const auto& p) {
        return p.first.second != 0 && !watch_.alive({p.first.first, p.first.second});
    });
    if (plain_peers_.empty())
        plain_lane_.reset();
}

/// Plain subscribers share one lane, and one that subscribes to everything gets other lanes' messages too: one that
/// stops reading would stop the others. Once a lane has had nothing released for as long as that may last, whoever
/// takes no bytes is disconnected (and comes back by itself if it can). One that is alone harms nobody and may take its
/// time.
void zmq_outlet_link::kick_stalled_plain(time_point now) {
    constexpr auto patience = std::chrono::milliseconds(500);
    std::uint64_t released = 0;
    bool stalled = false;
    if (plain_peers_.size() + lanes_.size() > 1 && !plain_peers_.empty())
        for_each_lane([&](consumer_lane& lane) {
            stalled |= lane.starved;
            released += lane.flow->released();
        });
    if (!stalled || released != plain_released_) {
        plain_released_ = released;
        plain_stalled_since_ = stalled ? now : time_point::max();
        return;
    }
    const auto limit = environment_.wait_for_slow ? std::chrono::nanoseconds(environment_.send_timeout)
                                                  : std::chrono::nanoseconds(patience);
    if (now - plain_stalled_since_ < limit)
        return;
    for (const auto& [key, subscriptions] : plain_peers_)
        if (watch_.shut_down({key.first, key.second}, true) == connection_watch::verdict::shut)
            ++gone_.kicked;
    plain_stalled_since_ = time_point::max();
}

} // namespace rivulet::transport::zmq
