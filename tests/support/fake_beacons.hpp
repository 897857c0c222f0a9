#pragma once

#include <discovery/beacon_node.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

/// A network and a clock for beacon nodes, neither of which is real: datagrams are delivered when the fake time comes,
/// or lost, delayed, doubled and reordered from a seed.
namespace rivulet::support {

using namespace std::chrono_literals;
using discovery::beacon_node;
using platform::time_point;

struct network_faults {
    double loss = 0; ///< of each datagram and receiver
    double doubling = 0;
    std::chrono::nanoseconds least_delay = 100us;
    std::chrono::nanoseconds most_delay = 200us;
};

class fake_network {
public:
    explicit fake_network(std::uint32_t seed = 1, network_faults how = {}) : faults(how), random_(seed) {}

    /// One process. Processes of one host share its unicast port: only the last of them gets what comes there.
    class process : public discovery::datagram_network {
    public:
        process(fake_network& net, int host, discovery::node_options options)
            : net_(net), host_(host), address_(net.address_of(host)), node(options, *this) {}

        void send_to_all(discovery::bytes_view bytes) override {
            for (const auto& other : net_.processes_)
                if (other.get() != this && net_.connected(host_, other->host_))
                    net_.carry(copy_of(bytes), *this, *other, false);
        }
        void send_to_host(discovery::bytes_view bytes) override {
            for (const auto& other : net_.processes_)
                if (other.get() != this && other->host_ == host_)
                    net_.carry(bytes, *this, *other, false);
        }
        void send_to(const discovery::udp_address& to, discovery::bytes_view bytes) override {
            process* common = nullptr;
            for (const auto& other : net_.processes_) {
                const bool here = to.is_loopback() && other->host_ == host_ && other->address_.port == to.port;
                if ((here || other->address_ == to) && net_.routed(host_, other->host_))
                    return net_.carry(copy_of(bytes), *this, *other, false);
                if (other->address_.same_host(to) && to.port == common_port && net_.routed(host_, other->host_))
                    common = other.get();
            }
            if (common)
                net_.carry(copy_of(bytes), *this, *common, true);
        }

        const discovery::udp_address& address() const { return address_; }
        std::vector<std::string> names() const {
            std::vector<std::string> out;
            for (const found_stream& stream : node.registry().streams())
                out.push_back(stream.info.name);
            std::ranges::sort(out);
            return out;
        }

    private:
        friend class fake_network;
        fake_network& net_;
        const int host_;
        const discovery::udp_address address_;

    public:
        beacon_node node;
        std::uint64_t bytes_received = 0, datagrams_received = 0;
        std::size_t largest = 0;
    };

    static constexpr std::uint16_t common_port = 16700;

    process& add(int host, std::string session = "default",
                 std::chrono::milliseconds interval = std::chrono::milliseconds(1000),
                 std::optional<security::secret_bytes> session_key = std::nullopt) {
        discovery::node_options options;
        options.session = session;
        options.key = discovery::lab_key(session, "239.255.83.76", "ff05::1");
        options.host = "host" + std::to_string(host);
        options.beacon_interval = interval;
        options.session_key = session_key;
        options.seed = static_cast<std::uint32_t>(random_());
        for (std::byte& b : options.id)
            b = static_cast<std::byte>(random_());
        return add(host, std::move(options));
    }
    process& add(int host, discovery::node_options options) {
        processes_.push_back(std::make_unique<process>(*this, host, std::move(options)));
        return *processes_.back();
    }
    /// It is gone without a word, as a process that was killed.
    void kill(process& dead) {
        std::erase_if(in_flight_, [&](const flight& f) { return f.to == &dead; });
        std::make_heap(in_flight_.begin(), in_flight_.end(), later);
        std::erase_if(processes_, [&](const auto& p) { return p.get() == &dead; });
    }
    discovery::udp_address common_address(int host) const {
        discovery::udp_address out;
        out.bytes = {10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)};
        out.port = common_port;
        return out;
    }

    time_point now() const { return now_; }
    /// Lets time pass: to the next datagram or turn, again and again.
    void run_for(std::chrono::nanoseconds duration) {
        run_until([] { return false; }, duration);
    }
    /// The same until the condition holds; false when it did not in time.
    template<class Condition>
    bool run_until(Condition condition, std::chrono::nanoseconds limit) {
        const time_point end = now_ + limit;
        while (!condition()) {
            time_point next = in_flight_.empty() ? time_point::max() : in_flight_.front().when;
            for (const auto& p : processes_)
                next = std::min(next, p->node.next_turn());
            if (next > end) {
                now_ = end;
                return condition();
            }
            now_ = std::max(now_, next);
            deliver();
            for (const auto& p : processes_)
                if (p->node.next_turn() <= now_)
                    p->node.on_turn(now_);
        }
        return true;
    }

    network_faults faults;
    bool cut = false;           ///< no datagram gets from host to host
    bool multicast_cut = false; ///< no multicast does
    /// Sees every datagram that somebody sends, as an eavesdropper does.
    std::function<void(discovery::bytes_view)> tap{};
    std::uint64_t sent_bytes = 0;

private:
    friend class process;
    struct flight {
        time_point when;
        std::uint64_t serial;
        process* to;
        discovery::datagram bytes;
        discovery::reception how;
    };
    static bool later(const flight& a, const flight& b) {
        return std::tie(a.when, a.serial) > std::tie(b.when, b.serial);
    }
    bool connected(int from, int to) const { return from == to || (!cut && !multicast_cut); }
    bool routed(int from, int to) const { return from == to || !cut; }
    discovery::udp_address address_of(int host) {
        discovery::udp_address out = common_address(host);
        out.port = static_cast<std::uint16_t>(30'000 + processes_serial_++);
        return out;
    }

    void carry(discovery::bytes_view bytes, const process& from, process& to, bool unicast) {
        sent_bytes += bytes.size();
        if (tap)
            tap(bytes);
        std::uniform_real_distribution<double> chance(0, 1);
        std::uniform_int_distribution<std::int64_t> delay(faults.least_delay.count(), faults.most_delay.count());
        const int copies = chance(random_) < faults.loss ? 0 : chance(random_) < faults.doubling ? 2 : 1;
        for (int i = 0; i < copies; ++i) {
            discovery::reception how{from.address_, unicast, from.host_ == to.host_};
            if (how.from_this_host)
                how.from.bytes = {127, 0, 0, 1};
            in_flight_.push_back(
                {now_ + std::chrono::nanoseconds(delay(random_)), serial_++, &to, {bytes.begin(), bytes.end()}, how});
            std::push_heap(in_flight_.begin(), in_flight_.end(), later);
        }
    }
    void deliver() {
        while (!in_flight_.empty() && in_flight_.front().when <= now_) {
            std::pop_heap(in_flight_.begin(), in_flight_.end(), later);
            const flight arrived = std::move(in_flight_.back());
            in_flight_.pop_back();
            arrived.to->bytes_received += arrived.bytes.size();
            ++arrived.to->datagrams_received;
            arrived.to->largest = std::max(arrived.to->largest, arrived.bytes.size());
            arrived.to->node.on_datagram(arrived.bytes, arrived.how, now_);
        }
    }

    std::minstd_rand random_;
    time_point now_ = time_point(1h);
    std::vector<std::unique_ptr<process>> processes_;
    std::vector<flight> in_flight_; ///< a heap
    std::uint64_t serial_ = 0;
    std::uint16_t processes_serial_ = 0;
};

/// A stream as an outlet advertises it.
inline discovery::advert make_advert(const std::string& name, const std::string& uid) {
    discovery::advert out;
    out.info.name = name;
    out.info.type = "EEG";
    out.info.channel_count = 8;
    out.info.nominal_rate_hz = 250;
    out.info.source_id = "source-of-" + name;
    out.info.uid = uid;
    out.info.created_at = 12.5;
    out.endpoints = {"zmq+tcp://*:5000"};
    return out;
}

} // namespace rivulet::support
