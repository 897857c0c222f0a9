#pragma once

#include "discovery/advertiser.hpp"
#include "discovery/beacon_codec.hpp"
#include "discovery/beacon_guard.hpp"
#include "discovery/stream_registry.hpp"
#include "platform/futex.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rivulet::discovery {

/// What carries a node's datagrams. Nothing here blocks; what cannot be sent is lost, as datagrams are.
class datagram_network {
public:
    virtual ~datagram_network() = default;
    /// To everybody: the groups on all interfaces, broadcasts, this host.
    virtual void send_to_all(bytes_view bytes) = 0;
    /// To the other processes of this host.
    virtual void send_to_host(bytes_view bytes) = 0;
    virtual void send_to(const udp_address& to, bytes_view bytes) = 0;

    /// Authenticates what is sent from now on; null: nothing.
    void set_guard(beacon_guard* guard) noexcept { guard_ = guard; }

protected:
    /// What one copy of a datagram goes out as; until the next call. Each copy is a datagram of its own, as what comes
    /// twice is not taken twice. What is passed on (send_to_host) goes as it is.
    bytes_view copy_of(bytes_view bytes) {
        if (guard_ == nullptr)
            return bytes;
        sealed_ = guard_->seal(bytes);
        return sealed_;
    }

private:
    beacon_guard* guard_ = nullptr;
    datagram sealed_;
};

struct node_options {
    std::string session = "default";
    std::uint64_t key = 0;
    participant_id id{};
    std::string host{};
    std::chrono::milliseconds beacon_interval{1000};
    std::uint32_t seed = 1;                              ///< of the jitter
    std::optional<security::secret_bytes> session_key{}; ///< datagrams are authenticated with it
    /// Whether an endpoint may be used; others are taken out of adverts. Empty: all.
    std::function<bool(std::string_view)> acceptable{};
};

/// How a datagram came in.
struct reception {
    udp_address from{};
    bool unicast = false;        ///< only this process got it, on the port that all processes of the host share
    bool from_this_host = false; ///< by its source address
};

struct node_counters {
    std::uint64_t received = 0;        ///< of this lab and well-formed
    std::uint64_t malformed = 0;       ///< or too large
    std::uint64_t foreign = 0;         ///< another lab, another version
    std::uint64_t refused = 0;         ///< beyond a limit
    std::uint64_t passed_on = 0;       ///< to the other processes of this host
    std::uint64_t answered = 0;        ///< datagrams sent as answers
    std::uint64_t unauthenticated = 0; ///< not made with our session key
    std::uint64_t replayed = 0;        ///< made with it, but seen before
    std::uint64_t unproven = 0;        ///< likewise, but possibly long ago
};

/// One context's part in the conversation of beacons: advertises its streams, answers questions, and, while somebody is
/// interested, keeps the registry of everybody's streams. A pure state machine: time is an argument, datagrams go
/// through an interface, no threads.
class beacon_node {
public:
    /// @param network outlives it.
    beacon_node(const node_options& options, datagram_network& network);
    beacon_node(const beacon_node&) = delete;
    beacon_node& operator=(const beacon_node&) = delete;

    // --- advertising
    /// @return endpoints that did not fit into the advert.
    std::size_t advertise(const advert& a, time_point now);
    void withdraw(const std::string& uid);
    std::size_t advertised() const noexcept { return streams_.size(); }
    /// Tells everybody what has changed.
    void announce(time_point now);

    // --- finding
    /// Begins or ends to keep the registry; ending forgets it.
    void set_interest(bool interested, time_point now);
    bool interested() const noexcept { return interested_; }
    /// Asks everybody, at once and some more times soon.
    void search(time_point now);
    /// Who is asked and told by unicast.
    void set_peers(std::vector<udp_address> peers, time_point now);
    /// The interfaces have changed: who is new there should hear of us, and we of them.
    void network_changed(time_point now);
    /// When all that was heard of is known, and for `quiet` nobody new has come since the search began, if it stays so;
    /// time_point::max() while something is being asked for.
    time_point settles_at(std::chrono::nanoseconds quiet) const noexcept;
    const stream_registry& registry() const noexcept { return registry_; }
    std::vector<stream_event> take_events() { return registry_.take_events(); }
    /// Source ids that two live outlets have: of this context's streams also while nobody is interested in others'.
    std::vector<source_conflict> take_conflicts();
    /// Names of streams that have no endpoint that may be used, each once.
    std::vector<std::string> take_unusable() { return std::exchange(unusable_, {}); }

    // --- being driven
    void on_datagram(bytes_view bytes, const reception& how, time_point now);
    void on_turn(time_point now);
    time_point next_turn() const;
    const node_counters& counters() const noexcept { return counters_; }

private:
    struct late_answer {
        time_point when;
        udp_address to;
        bool to_group;
        std::optional<nonce> number;
    };
    void compare_sources(const participant_id& sender, const beacon& b, time_point now);
    void hear_myself(bytes_view bytes, time_point now);
    void hear_all_of_myself(time_point now);
    void on_query(const participant_id& sender, const query& q, const udp_address& from, time_point now);
    void answer_one(const query& q, const udp_address& from);
    void tell(bytes_view bytes);
    void ask_everybody(std::chrono::milliseconds spread, bool group, time_point now);
    bool open(bytes_view bytes, message& out, std::uint64_t& counter);
    void on_beacon(const participant_id& sender, beacon& b, const udp_address& from, time_point now);
    bool alive(const participant_id& sender, const beacon& b, const udp_address& from, time_point now);
    void take_out_unusable(beacon& b);
    std::optional<nonce> question_number(time_point now);
    void send_questions(time_point now);
    bool seen(const participant_id& sender, std::uint32_t id, const udp_address& from);
    std::chrono::nanoseconds jittered(std::chrono::nanoseconds about);

    const node_options options_;
    datagram_network& network_;
    std::optional<beacon_guard> guard_;
    advertiser streams_;
    stream_registry registry_;
    source_conflicts own_; ///< this context's streams, and others that have the source id of one
    std::map<std::string, std::string> own_sources_; ///< source ids by uid
    std::set<std::string> told_;                     ///< source ids
    std::set<std::string> unusable_told_;            ///< names of streams
    std::vector<std::string> unusable_;
    node_counters counters_;
    std::minstd_rand random_;
    std::vector<udp_address> peers_;
    bool interested_ = false;
    std::uint32_t next_query_ = 1;
    time_point next_beacon_ = time_point::max();
    std::size_t searches_ = 0; ///< questions asked since search()
    time_point search_began_{};
    time_point next_search_ = time_point::max();
    std::vector<late_answer> late_;
    struct asked {
        participant_id sender;
        std::uint32_t id;
        udp_address from;
    };
    std::vector<asked> seen_; ///< a ring of the last questions to everybody
    std::size_t seen_next_ = 0;
    double answers_left_; ///< may be sent at once; grows with time
    time_point answers_counted_{};
};

} // namespace rivulet::discovery
