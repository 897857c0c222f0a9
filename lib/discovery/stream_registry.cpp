#include "discovery/stream_registry.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_sources = 8;
constexpr std::size_t most_under_way = 64; ///< datagrams: the default receive buffer holds 90
constexpr std::size_t most_gone = 4096;
constexpr auto first_patience = 30ms;
constexpr auto longest_patience = 1000ms;
constexpr std::uint32_t tries_by_unicast = 2; ///< then an answer to the group is asked for now and then
constexpr std::size_t typical_advert_bytes = 200;

/// How near an address is: the nearest is offered first.
int distance(const udp_address& a) noexcept { return a.is_loopback() ? 0 : a.is_link_local() ? 3 : a.ipv6 ? 2 : 1; }

std::chrono::nanoseconds lifetime(std::chrono::milliseconds interval) noexcept { return interval * 7 / 2; }

} // namespace

// --- endpoints ------------------------------------------------------------------------------------------------------

std::vector<std::string> reachable_endpoints(const std::vector<std::string>& advertised,
                                             const std::vector<udp_address>& sources) {
    std::vector<std::string> out;
    for (const std::string& endpoint : advertised) {
        const std::size_t begin = endpoint.find("://") + 3;
        const std::string_view rest = std::string_view(endpoint).substr(begin);
        const bool any = rest.starts_with("*:");
        const bool four = rest.starts_with("0.0.0.0:");
        const bool six = rest.starts_with("[::]:");
        if (!any && !four && !six) {
            out.push_back(endpoint);
            continue;
        }
        const std::string port(rest.substr(rest.rfind(':')));
        for (const udp_address& source : sources) {
            std::string host = source.host_text();
            if (source.is_loopback()) // the same host, whatever the family
                host = six ? "[::1]" : four ? "127.0.0.1" : host;
            else if ((four && source.ipv6) || (six && !source.ipv6))
                continue;
            if (std::string use = endpoint.substr(0, begin) + host + port; std::ranges::find(out, use) == out.end())
                out.push_back(std::move(use));
        }
    }
    return out;
}

found_stream stream_registry::found(const participant& p, const known_stream& s) const {
    std::vector<udp_address> sources(p.sources.size());
    std::ranges::transform(p.sources, sources.begin(), &source::address);
    found_stream out{s.what.info, reachable_endpoints(s.what.endpoints, sources),
                     reachable_endpoints(s.what.service, sources)};
    out.info.session = session_;
    return out;
}

// --- receiving ------------------------------------------------------------------------------------------------------

stream_registry::stream_registry(std::string session, registry_limits limits)
    : session_(std::move(session)), limits_(limits) {}

void stream_registry::emit(stream_event::kind what, const participant& p, const known_stream& s) {
    events_.push_back({what, found(p, s)});
}

bool stream_registry::receive(const participant_id& sender, const beacon& b, const udp_address& from, time_point now) {
    auto at = participants_.find(sender);
    if (at == participants_.end()) {
        if (participants_.size() >= limits_.participants)
            return false;
        at = participants_.emplace(sender, participant{}).first;
        last_discovery_ = now;
    }
    participant& p = at->second;
    p.heard = now;
    conflicts_.heard(sender, now);
    p.interval = std::chrono::milliseconds(b.interval_ms);
    p.probe_at = now + p.interval * 3 / 2;
    if (hear(p, from, now))
        for (const auto& [uid, stream] : p.streams)
            emit(stream_event::kind::changed, p, stream);
    return apply(sender, p, b, now);
}

/// Notes where it was heard; true when it had not been heard from there before.
bool stream_registry::hear(participant& p, const udp_address& from, time_point now) {
    const auto same = std::ranges::find_if(p.sources, [&](const source& s) { return s.address.same_host(from); });
    if (same != p.sources.end()) {
        *same = {from, now};
        return false;
    }
    if (p.sources.size() == most_sources)
        return false;
    const auto behind =
        std::ranges::find_if(p.sources, [&](const source& s) { return distance(s.address) > distance(from); });
    p.sources.insert(behind, {from, now});
    return true;
}

bool stream_registry::apply(const participant_id& id, participant& p, const beacon& b, time_point now) {
    if (p.known && b.revision <= p.complete) {
        if (b.revision == p.complete && b.total != p.streams.size() && !p.refused) {
            p.known = false; // somebody else's fault, or ours: from the beginning
            p.ask_again = now;
        }
        return true;
    }
    if (b.revision >= p.latest) {
        if (p.asked == 0)
            p.ask_again = now;
        p.latest = b.revision;
        p.total = b.total;
    }
    bool all = true;
    for (const advert& a : b.adverts)
        all &= add(id, p, a, b, now);
    for (const std::string& uid : b.gone) {
        remove(p, uid);
        if (p.gone.size() < most_gone)
            p.gone[uid] = b.revision;
    }
    p.refused |= !all;
    if (b.parts > 0)
        assemble(p, b, now);
    return all;
}

bool stream_registry::add(const participant_id& id, participant& p, const advert& a, const beacon& from,
                          time_point now) {
    const std::uint64_t revision = from.revision;
    if (const auto gone = p.gone.find(a.info.uid); gone != p.gone.end() && gone->second > revision)
        return true;
    if (const auto at = p.streams.find(a.info.uid); at != p.streams.end()) {
        known_stream& stream = at->second;
        const bool news = revision >= stream.revision && !(stream.what == a);
        stream.revision = std::max(stream.revision, revision);
        if (news) {
            stream.what = a;
            emit(stream_event::kind::changed, p, stream);
        }
        return true;
    }
    if (a.endpoints.empty() || owner_.size() >= limits_.streams || !owner_.emplace(a.info.uid, id).second)
        return false;
    conflicts_.add(id, a, from.host, now);
    emit(stream_event::kind::appeared, p, p.streams.emplace(a.info.uid, known_stream{a, revision}).first->second);
    return true;
}

void stream_registry::remove(participant& p, const std::string& uid) {
    const auto at = p.streams.find(uid);
    if (at == p.streams.end())
        return;
    emit(stream_event::kind::disappeared, p, at->second);
    p.streams.erase(at);
    owner_.erase(uid);
    conflicts_.remove(uid);
}

/// Takes note of one part of an answer; what it says has been applied.
void stream_registry::assemble(participant& p, const beacon& b, time_point now) {
    assembly& parts = p.parts;
    const bool usable = b.base == 0 || (p.known && b.base <= p.complete);
    if (!usable) {
        if (b.parts == 1 && parts.missing > 0 && b.base == parts.end)
            parts.end = b.revision;
        return;
    }
    if (b.parts == 1)
        return complete(p, b.revision, b.base, b.revision);
    if (parts.revision != b.revision || parts.base != b.base || parts.have.size() != b.parts || parts.missing == 0) {
        if (parts.missing > 0 && b.revision < parts.revision)
            return;
        parts = {b.revision, b.base, b.revision, std::vector<bool>(b.parts), b.parts};
    }
    if (parts.have[b.part])
        return;
    parts.have[b.part] = true;
    if (--parts.missing == 0)
        return complete(p, parts.revision, parts.base, parts.end);
    p.tries = 0;
    std::uint32_t left = p.asked;
    for (std::uint32_t i = 0; i < parts_per_query; ++i)
        if (p.first_asked + i >= b.parts || parts.have[p.first_asked + i])
            left &= ~(1u << i);
    set_asked(p, p.first_asked, left);
    p.ask_again = left == 0 ? now : now + p.patience;
}

/// Everything up to `end` is known: the set of `revision` (base 0), or the changes since, and what was announced after.
void stream_registry::complete(participant& p, std::uint64_t revision, std::uint64_t base, std::uint64_t end) {
    if (base == 0) {
        std::vector<std::string> unmentioned;
        for (const auto& [uid, stream] : p.streams)
            if (stream.revision < revision)
                unmentioned.push_back(uid);
        for (const std::string& uid : unmentioned)
            remove(p, uid);
    }
    p.known = true;
    p.complete = end;
    p.latest = std::max(p.latest, end);
    p.parts = {};
    std::erase_if(p.gone, [&](const auto& entry) { return entry.second <= end; });
    set_asked(p, 0, 0);
    p.tries = 0;
    p.patience = std::max<std::chrono::milliseconds>(p.patience / 2, first_patience);
    p.ask_again = {};
}

// --- asking ---------------------------------------------------------------------------------------------------------

void stream_registry::set_asked(participant& p, std::uint32_t first, std::uint32_t mask) noexcept {
    under_way_ -= static_cast<std::size_t>(std::popcount(p.asked));
    p.first_asked = first;
    p.asked = mask;
    under_way_ += static_cast<std::size_t>(std::popcount(p.asked));
}

stream_registry::question stream_registry::ask(const participant_id& id, participant& p, time_point now) {
    query q;
    q.id = next_id_++;
    q.to = id;
    q.base = p.known ? p.complete : 0;
    q.revision = p.latest;
    std::size_t parts = room_for_items({}) / typical_advert_bytes;
    if (p.parts.missing > 0) {
        q.revision = p.parts.revision;
        parts = p.parts.have.size();
        while (p.parts.have[q.first_part])
            ++q.first_part;
    } else {
        parts = std::max<std::size_t>(1, p.total / parts + 1); // a guess; more is asked for when it is too low
    }
    const std::size_t room = most_under_way > under_way_ ? most_under_way - under_way_ : 1;
    std::size_t wanted = 0;
    for (std::uint32_t i = 0; i < parts_per_query && q.first_part + i < parts && wanted < room; ++i)
        if (p.parts.missing == 0 || !p.parts.have[q.first_part + i]) {
            q.wanted |= 1u << i;
            ++wanted;
        }
    q.to_group = p.tries > tries_by_unicast && p.tries % 3 == 0;
    set_asked(p, q.first_part, q.wanted);
    p.ask_again = now + p.patience;
    return {p.sources[p.tries % p.sources.size()].address, q};
}

std::vector<stream_registry::question> stream_registry::take_questions(time_point now) {
    std::vector<question> out;
    for (auto& [id, p] : participants_) {
        if (now >= p.probe_at && !p.sources.empty()) {
            query q;
            q.id = next_id_++;
            q.to = id;
            q.base = q.revision = p.known ? p.complete : 0;
            q.wanted = 1;
            out.push_back({p.sources[q.id % p.sources.size()].address, q});
            p.probe_at = now + p.interval / 8;
        }
        if (!p.lacks() || now < p.ask_again || p.sources.empty())
            continue;
        if (p.asked != 0) { // unanswered
            ++p.tries;
            p.patience = std::min<std::chrono::milliseconds>(p.patience * 2, longest_patience);
            set_asked(p, 0, 0);
        }
        if (under_way_ < most_under_way)
            out.push_back(ask(id, p, now));
    }
    return out;
}

// --- time -----------------------------------------------------------------------------------------------------------

void stream_registry::expire(time_point now) {
    for (auto at = participants_.begin(); at != participants_.end();) {
        participant& p = at->second;
        if (p.heard + lifetime(p.interval) > now) {
            const std::size_t before = p.sources.size();
            std::erase_if(p.sources, [&](const source& s) { return s.heard + lifetime(p.interval) <= now; });
            if (p.sources.size() != before)
                for (const auto& [uid, stream] : p.streams)
                    emit(stream_event::kind::changed, p, stream);
            ++at;
            continue;
        }
        while (!p.streams.empty())
            remove(p, std::string(p.streams.begin()->first));
        set_asked(p, 0, 0);
        at = participants_.erase(at);
    }
}

time_point stream_registry::next_turn() const {
    time_point next = time_point::max();
    for (const auto& [id, p] : participants_) {
        next = std::min({next, p.heard + lifetime(p.interval), p.probe_at});
        for (const source& s : p.sources)
            next = std::min(next, s.heard + lifetime(p.interval));
        // Those who wait for room to ask have their turn when an answer comes, or the time of another one is up.
        if (p.lacks() && (p.asked != 0 || under_way_ < most_under_way))
            next = std::min(next, p.ask_again);
    }
    return next;
}

// --- looking --------------------------------------------------------------------------------------------------------

std::vector<stream_event> stream_registry::take_events() { return std::exchange(events_, {}); }

std::vector<found_stream> stream_registry::streams() const {
    std::vector<found_stream> out;
    for (const auto& [id, p] : participants_)
        for (const auto& [uid, stream] : p.streams)
            out.push_back(found(p, stream));
    return out;
}

bool stream_registry::complete() const noexcept {
    return std::ranges::none_of(participants_, [](const auto& entry) { return entry.second.lacks(); });
}

void stream_registry::clear() {
    participants_.clear();
    owner_.clear();
    events_.clear();
    conflicts_.clear();
    under_way_ = 0;
    last_discovery_ = {};
}

} // namespace rivulet::discovery
