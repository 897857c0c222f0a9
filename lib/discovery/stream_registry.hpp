#pragma once

#include "discovery/beacon_codec.hpp"
#include "discovery/source_conflicts.hpp"
#include "platform/futex.hpp"

#include <rivulet/resolver.hpp>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace rivulet::discovery {

using platform::time_point;

struct registry_limits {
    std::size_t participants = 4096;
    std::size_t streams = 1u << 17;
};

/// What is known of other contexts' streams, from their beacons; asks for what it lacks. A pure state machine: time is
/// an argument, questions are handed out, no threads.
///
/// Of each participant it knows the revision up to which it knows everything (complete) and the latest that it heard
/// of. When it lacks something it asks for the changes in between, 32 datagrams at a time and 64 from all participants
/// together, which the smallest receive buffers hold; what does not come is asked for again. Whoever has not been heard
/// for an interval and a half is asked whether it lives, so that losses do not make it seem gone.
class stream_registry {
public:
    struct question {
        udp_address to;
        query what;
    };

    explicit stream_registry(std::string session, registry_limits limits = {});

    /// A beacon came. @return false: it was ignored, as it would exceed the limits.
    bool receive(const participant_id& sender, const beacon& b, const udp_address& from, time_point now);
    /// Removes who has not been heard for three intervals and a half. Also forgets addresses.
    void expire(time_point now);
    /// Questions due now, to be sent.
    std::vector<question> take_questions(time_point now);
    /// When expire or take_questions have something to do next.
    time_point next_turn() const;

    std::vector<stream_event> take_events();
    std::vector<found_stream> streams() const;
    source_conflicts& conflicts() noexcept { return conflicts_; }
    /// Nothing is missing of all that was heard of.
    bool complete() const noexcept;
    /// When a participant was last heard of for the first time.
    time_point last_discovery() const noexcept { return last_discovery_; }
    std::size_t participants() const noexcept { return participants_.size(); }
    /// Forgets everything, without events.
    void clear();

private:
    struct source {
        udp_address address;
        time_point heard;
    };
    struct known_stream {
        advert what;
        std::uint64_t revision = 0; ///< of the beacon that it came with
    };
    /// An answer that comes in several parts.
    struct assembly {
        std::uint64_t revision = 0;
        std::uint64_t base = 0;
        std::uint64_t end = 0; ///< with the changes that were announced after it
        std::vector<bool> have;
        std::size_t missing = 0;
    };
    struct participant {
        time_point heard{};
        std::chrono::milliseconds interval{1000};
        std::vector<source> sources; ///< best first
        std::uint64_t complete = 0;
        bool known = false; ///< `complete` means something: also the empty set can be known
        std::uint64_t latest = 0;
        std::uint32_t total = 0; ///< streams of `latest`
        bool refused = false;    ///< not all of them were taken, so that their number says nothing
        std::unordered_map<std::string, known_stream> streams;
        std::unordered_map<std::string, std::uint64_t> gone; ///< since `complete`: late answers do not bring them back
        assembly parts;
        std::uint32_t first_asked = 0, asked = 0; ///< parts under way: bit i is first_asked + i
        std::uint32_t tries = 0;                  ///< questions without any answer
        std::chrono::milliseconds patience{30};
        time_point ask_again{};

        time_point probe_at{}; ///< when it is asked whether it lives, unless it is heard before

        bool lacks() const noexcept { return !known || complete < latest; }
    };

    bool hear(participant& p, const udp_address& from, time_point now);
    bool apply(const participant_id& id, participant& p, const beacon& b, time_point now);
    bool add(const participant_id& id, participant& p, const advert& a, const beacon& from, time_point now);
    void remove(participant& p, const std::string& uid);
    void assemble(participant& p, const beacon& b, time_point now);
    void complete(participant& p, std::uint64_t revision, std::uint64_t base, std::uint64_t end);
    void emit(stream_event::kind what, const participant& p, const known_stream& s);
    question ask(const participant_id& id, participant& p, time_point now);
    found_stream found(const participant& p, const known_stream& s) const;
    void set_asked(participant& p, std::uint32_t first, std::uint32_t mask) noexcept;

    const std::string session_;
    const registry_limits limits_;
    std::map<participant_id, participant> participants_;
    std::unordered_map<std::string, participant_id> owner_; ///< of each uid: the first who advertised it
    source_conflicts conflicts_;
    std::size_t under_way_ = 0; ///< parts asked of all participants
    std::uint32_t next_id_ = 1;
    time_point last_discovery_{};
    std::vector<stream_event> events_;
};

/// Endpoints as they can be used from here: a wildcard host becomes each of the addresses that suit it.
std::vector<std::string> reachable_endpoints(const std::vector<std::string>& advertised,
                                             const std::vector<udp_address>& sources);

} // namespace rivulet::discovery
