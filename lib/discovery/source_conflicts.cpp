#include "discovery/source_conflicts.hpp"

#include <algorithm>

namespace rivulet::discovery {
namespace {

constexpr std::size_t most_rivalries = 256; ///< beyond that the lab has another problem, or an attacker
constexpr std::size_t most_told = 1024;
constexpr std::size_t most_of_a_source = 8;

} // namespace

void source_conflicts::add(const participant_id& of, const advert& a, const std::string& host, time_point now) {
    const std::string& id = a.info.source_id;
    if (id.empty() || !a.info.origin.empty() || source_of_.contains(a.info.uid) ||
        streams_.count(id) >= most_of_a_source)
        return;
    const stream fresh{a.info.uid, of, '"' + a.info.name + "\" (" + a.info.uid + ") on " + host};
    const auto [first, last] = streams_.equal_range(id);
    for (auto other = first; other != last; ++other)
        if (rivalries_.size() < most_rivalries && told_.size() < most_told && !told_.contains(id))
            rivalries_.push_back({id, now, {other->second, fresh}});
    streams_.emplace(id, fresh);
    source_of_.emplace(fresh.uid, id);
}

void source_conflicts::remove(const std::string& uid) {
    const auto known = source_of_.find(uid);
    if (known == source_of_.end())
        return;
    const auto [first, last] = streams_.equal_range(known->second);
    const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second.uid == uid; });
    if (at != last)
        streams_.erase(at);
    source_of_.erase(known);
    std::erase_if(rivalries_, [&](const rivalry& r) { return r.sides[0].uid == uid || r.sides[1].uid == uid; });
}

void source_conflicts::remove_source(const std::string& source_id) {
    while (knows(source_id))
        remove(std::string(streams_.find(source_id)->second.uid));
}

void source_conflicts::heard(const participant_id& who, time_point now) {
    for (rivalry& r : rivalries_)
        for (std::size_t i = 0; i < 2; ++i)
            if (r.sides[i].of == who && now >= r.since + persistence)
                r.alive[i] = true;
}

std::vector<source_conflict> source_conflicts::take() {
    std::vector<source_conflict> out;
    for (const rivalry& r : rivalries_)
        if (r.alive[0] && r.alive[1] && told_.insert(r.source_id).second)
            out.push_back({r.source_id, r.sides[0].text + ", " + r.sides[1].text});
    if (!out.empty())
        std::erase_if(rivalries_, [&](const rivalry& r) { return told_.contains(r.source_id); });
    return out;
}

void source_conflicts::clear() {
    streams_.clear();
    source_of_.clear();
    rivalries_.clear();
}

} // namespace rivulet::discovery
