#pragma once

#include "discovery/beacon_codec.hpp"
#include "platform/futex.hpp"

#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rivulet::discovery {

using platform::time_point;

/// Two outlets that live advertise one source id, so that after a loss nobody could tell which one to go on with.
struct source_conflict {
    std::string source_id;
    std::string streams; ///< both, for people
};

/// Finds source_conflicts among the streams that it is told of. Both streams have to live on for a moment, so that an
/// outlet which takes the place of another one in order is none, and one that was killed is not taken for alive: its
/// context is not heard again; what relays repeat does not count. Each source id is told once. A pure state machine:
/// time is an argument, no threads.
class source_conflicts {
public:
    static constexpr std::chrono::milliseconds persistence{100};

    void add(const participant_id& of, const advert& a, const std::string& host, time_point now);
    void remove(const std::string& uid);
    void remove_source(const std::string& source_id);
    /// Whether there is a stream of this source id.
    bool knows(const std::string& source_id) const { return streams_.contains(source_id); }
    bool empty() const noexcept { return streams_.empty(); }
    /// A context said something: its streams live.
    void heard(const participant_id& who, time_point now);
    std::vector<source_conflict> take();
    void clear();

private:
    struct stream {
        std::string uid;
        participant_id of;
        std::string text;
    };
    struct rivalry {
        std::string source_id;
        time_point since;
        std::array<stream, 2> sides;
        std::array<bool, 2> alive{};
    };
    std::multimap<std::string, stream> streams_;   ///< by source id
    std::map<std::string, std::string> source_of_; ///< by uid
    std::vector<rivalry> rivalries_;
    std::set<std::string> told_;
};

} // namespace rivulet::discovery
