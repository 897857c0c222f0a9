#include "discovery/beacon_node.hpp"

#include <algorithm>
#include <array>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;

/// When a question to everybody is asked again, counted from the one before.
constexpr std::array<std::chrono::milliseconds, 6> repeats{20ms, 40ms, 90ms, 200ms, 400ms, 750ms};
constexpr std::size_t group_every = 5; ///< later questions go to known peers each time, to everybody this often
constexpr std::size_t most_unusable_told = 1024;
constexpr std::size_t most_seen = 64;
constexpr std::size_t most_late = 256;
constexpr double most_answers = 4096; ///< datagrams at once, and ...
constexpr double answers_a_second = 20'000;

const udp_address myself = [] {
    udp_address a;
    a.bytes = {127, 0, 0, 1};
    return a;
}();

} // namespace

beacon_node::beacon_node(const node_options& options, datagram_network& network)
    : options_(options), network_(network),
      streams_(options.key, options.id, options.host, static_cast<std::uint32_t>(options.beacon_interval.count()),
               options.session_key ? beacon_guard::overhead : 0),
      registry_(options.session), random_(options.seed), answers_left_(most_answers) {
    if (options.session_key)
        guard_.emplace(*options.session_key, options.key);
    network_.set_guard(guard_ ? &*guard_ : nullptr);
}

/// Plus or minus a tenth, so that those who began together do not stay together.
std::chrono::nanoseconds beacon_node::jittered(std::chrono::nanoseconds about) {
    std::uniform_int_distribution<std::int64_t> offset(-about.count() / 10, about.count() / 10);
    return about + std::chrono::nanoseconds(offset(random_));
}

// --- advertising ----------------------------------------------------------------------------------------------------

std::size_t beacon_node::advertise(const advert& a, time_point now) {
    if (!a.info.source_id.empty() && own_sources_.emplace(a.info.uid, a.info.source_id).second)
        own_.add(options_.id, a, options_.host, now);
    return streams_.add(a);
}

void beacon_node::withdraw(const std::string& uid) {
    streams_.remove(uid);
    const auto mine = own_sources_.find(uid);
    if (mine == own_sources_.end())
        return;
    const std::string source_id = std::move(mine->second);
    own_sources_.erase(mine);
    own_.remove(uid);
    if (std::ranges::none_of(own_sources_, [&](const auto& entry) { return entry.second == source_id; }))
        own_.remove_source(source_id);
}

/// The other outlet of a source would be seen by who searches for it only; that is too late for who made it.
void beacon_node::compare_sources(const participant_id& sender, const beacon& b, time_point now) {
    for (const std::string& uid : b.gone)
        if (!own_sources_.contains(uid))
            own_.remove(uid);
    for (const advert& a : b.adverts)
        if (own_.knows(a.info.source_id) && !own_sources_.contains(a.info.uid))
            own_.add(sender, a, b.host, now);
    own_.heard(sender, now);
}

std::vector<source_conflict> beacon_node::take_conflicts() {
    std::vector<source_conflict> out = own_.take();
    for (source_conflict& seen : registry_.conflicts().take())
        if (std::ranges::find(out, seen.source_id, &source_conflict::source_id) == out.end())
            out.push_back(std::move(seen));
    std::erase_if(out, [&](const source_conflict& c) { return !told_.insert(c.source_id).second; });
    return out;
}

void beacon_node::tell(bytes_view bytes) {
    network_.send_to_all(bytes);
    for (const udp_address& peer : peers_)
        network_.send_to(peer, bytes);
}

void beacon_node::announce(time_point now) {
    if (!streams_.changed())
        return;
    for (const datagram& bytes : streams_.take_changes()) {
        tell(bytes);
        hear_myself(bytes, now);
    }
    next_beacon_ = streams_.size() == 0 ? time_point::max() : now + jittered(options_.beacon_interval);
    if (interested_ && !registry_.complete())
        hear_all_of_myself(now);
}

/// This context's own streams are found as all others are, only without a network.
void beacon_node::hear_myself(bytes_view bytes, time_point now) {
    message m;
    if (interested_ && decode(bytes, options_.key, m) == beacon_error::none)
        registry_.receive(m.sender, std::get<beacon>(m.body), myself, now);
}

void beacon_node::hear_all_of_myself(time_point now) {
    hear_myself(streams_.sign_of_life(), now);
    send_questions(now);
}

// --- finding --------------------------------------------------------------------------------------------------------

void beacon_node::set_interest(bool interested, time_point now) {
    if (interested == interested_)
        return;
    interested_ = interested;
    if (interested) {
        if (streams_.size() != 0)
            hear_all_of_myself(now);
        search(now);
    } else {
        registry_.clear();
        next_search_ = time_point::max();
    }
}

void beacon_node::search(time_point now) {
    searches_ = 0;
    search_began_ = now;
    next_search_ = now;
}

void beacon_node::set_peers(std::vector<udp_address> peers, time_point now) {
    if (peers == peers_)
        return;
    peers_ = std::move(peers);
    network_changed(now);
}

void beacon_node::network_changed(time_point now) {
    if (streams_.size() != 0)
        next_beacon_ = now;
    if (interested_)
        search(now);
}

/// That an answer has to repeat, so that it is known for one.
std::optional<nonce> beacon_node::question_number(time_point now) {
    return guard_ ? std::optional(guard_->question(now)) : std::nullopt;
}

void beacon_node::ask_everybody(std::chrono::milliseconds spread, bool group, time_point now) {
    query q;
    q.id = next_query_++;
    q.spread_ms = static_cast<std::uint32_t>(spread.count());
    q.number = question_number(now);
    const datagram bytes = encode_query(options_.key, options_.id, q);
    if (group)
        network_.send_to_all(bytes);
    for (const udp_address& peer : peers_)
        network_.send_to(peer, bytes);
}

void beacon_node::send_questions(time_point now) {
    // This context answers itself at once, which may make room for the next question.
    for (bool again = true; again;) {
        again = false;
        for (auto& [to, q] : registry_.take_questions(now)) {
            q.number = question_number(now);
            if (*q.to == options_.id) {
                streams_.answer(q, [&](const datagram& bytes) { hear_myself(bytes, now); });
                again = true;
            } else {
                network_.send_to(to, encode_query(options_.key, options_.id, q));
            }
        }
    }
}

time_point beacon_node::settles_at(std::chrono::nanoseconds quiet) const noexcept {
    if (!interested_ || searches_ == 0 || !registry_.complete())
        return time_point::max();
    return std::max(search_began_, registry_.last_discovery()) +
           std::chrono::duration_cast<time_point::duration>(quiet);
}

// --- being asked ----------------------------------------------------------------------------------------------------

bool beacon_node::seen(const participant_id& sender, std::uint32_t id, const udp_address& from) {
    const bool known =
        std::ranges::any_of(seen_, [&](const asked& a) { return a.id == id && a.sender == sender && a.from == from; });
    if (known)
        return true;
    if (seen_.size() < most_seen)
        seen_.push_back({sender, id, from});
    else
        seen_[seen_next_++ % most_seen] = {sender, id, from};
    return false;
}

void beacon_node::answer_one(const query& q, const udp_address& from) {
    const auto send = [&](const datagram& bytes) {
        if (answers_left_ < 1) {
            ++counters_.refused;
            return;
        }
        answers_left_ -= 1;
        ++counters_.answered;
        q.to_group ? network_.send_to_all(bytes) : network_.send_to(from, bytes);
    };
    q.to ? streams_.answer(q, send) : send(streams_.sign_of_life(q.number));
}

void beacon_node::on_query(const participant_id& sender, const query& q, const udp_address& from, time_point now) {
    if (streams_.size() == 0 || (q.to && *q.to != options_.id) || from.port == 0)
        return;
    answers_left_ = std::min(
        most_answers, answers_left_ + answers_a_second * std::chrono::duration<double>(now - answers_counted_).count());
    answers_counted_ = now;
    if (!q.to && seen(sender, q.id, from)) // by multicast and by broadcast, for example
        return;
    if (q.to || q.spread_ms == 0)
        return answer_one(q, from);
    if (late_.size() >= most_late) {
        ++counters_.refused;
        return;
    }
    std::uniform_int_distribution<std::uint32_t> delay(0, q.spread_ms);
    late_.push_back({now + std::chrono::milliseconds(delay(random_)), from, q.to_group, q.number});
}

// --- being driven ---------------------------------------------------------------------------------------------------

/// Takes a datagram apart, if it is one for us; counts it otherwise.
bool beacon_node::open(bytes_view bytes, message& out, std::uint64_t& counter) {
    beacon_error wrong = beacon_error::none;
    beacon_guard::opened sealed{bytes, 0, {}};
    if (guard_)
        wrong = guard_->open(bytes, sealed);
    if (wrong == beacon_error::none)
        wrong = decode(sealed.plain, options_.key, out, interested_ || !own_.empty());
    if (wrong == beacon_error::none && guard_) {
        wrong = out.origin ? beacon_error::malformed : beacon_error::none;
        out.origin = sealed.origin;
    }
    counter = sealed.counter;
    switch (wrong) {
    case beacon_error::none: return true;
    case beacon_error::malformed:
    case beacon_error::too_large: ++counters_.malformed; return false;
    case beacon_error::foreign_lab:
    case beacon_error::foreign_version: ++counters_.foreign; return false;
    case beacon_error::unauthenticated: ++counters_.unauthenticated; return false;
    }
    return false;
}

void beacon_node::on_datagram(bytes_view bytes, const reception& how, time_point now) {
    message m;
    std::uint64_t counter = 0;
    if (!open(bytes, m, counter) || m.sender == options_.id)
        return;
    // Only processes of this host pass datagrams on: others could make us answer to anybody.
    if (m.origin && !how.from_this_host) {
        ++counters_.malformed;
        return;
    }
    bool refused = false;
    if (guard_ && !guard_->take(m.sender, counter, now, refused)) {
        ++(refused ? counters_.refused : counters_.replayed);
        return;
    }
    ++counters_.received;
    const udp_address& from = m.origin ? *m.origin : how.from;
    if (how.unicast && !m.origin && bytes.size() <= max_datagram_bytes && !(from.ipv6 && from.is_link_local())) {
        network_.send_to_host(guard_ ? guard_->pass_on(bytes, from) : encode_passed_on(bytes, from));
        ++counters_.passed_on;
    }
    if (const auto* q = std::get_if<query>(&m.body))
        return on_query(m.sender, *q, from, now);
    on_beacon(m.sender, std::get<beacon>(m.body), from, now);
}

void beacon_node::on_beacon(const participant_id& sender, beacon& b, const udp_address& from, time_point now) {
    if (!alive(sender, b, from, now))
        return;
    if (options_.acceptable)
        take_out_unusable(b);
    if (!own_.empty())
        compare_sources(sender, b, now);
    if (!interested_)
        return;
    if (!registry_.receive(sender, b, from, now))
        ++counters_.refused;
    send_questions(now);
}

/// Whether a beacon is not an old one that somebody has recorded; if that is not known yet, and matters, asks.
bool beacon_node::alive(const participant_id& sender, const beacon& b, const udp_address& from, time_point now) {
    if (!guard_ || guard_->proven(sender, b.answered, now))
        return true;
    ++counters_.unproven;
    const bool matters =
        interested_ || std::ranges::any_of(b.adverts, [&](const advert& a) { return own_.knows(a.info.source_id); });
    if (!matters || !guard_->should_ask(sender, now))
        return false;
    query q;
    q.id = next_query_++;
    q.to = sender;
    q.revision = b.revision;
    q.wanted = 1;
    q.number = question_number(now);
    network_.send_to(from, encode_query(options_.key, options_.id, q));
    return false;
}

void beacon_node::take_out_unusable(beacon& b) {
    const auto out = [&](const std::string& endpoint) { return !options_.acceptable(endpoint); };
    for (advert& a : b.adverts) {
        std::erase_if(a.endpoints, out);
        std::erase_if(a.service, out);
        if (a.endpoints.empty() && unusable_told_.size() < most_unusable_told &&
            unusable_told_.insert(a.info.name).second)
            unusable_.push_back(a.info.name);
    }
}

void beacon_node::on_turn(time_point now) {
    announce(now);
    own_.heard(options_.id, now);
    if (now >= next_beacon_) {
        const datagram bytes = streams_.sign_of_life();
        tell(bytes);
        hear_myself(bytes, now);
        next_beacon_ = now + jittered(options_.beacon_interval);
    }
    for (std::size_t i = 0; i < late_.size();) {
        if (late_[i].when > now) {
            ++i;
            continue;
        }
        query q;
        q.to_group = late_[i].to_group;
        q.number = late_[i].number;
        if (streams_.size() != 0)
            answer_one(q, late_[i].to);
        late_[i] = late_.back();
        late_.pop_back();
    }
    if (now >= next_search_) {
        const bool burst = searches_ < repeats.size();
        const auto wait = burst ? repeats[searches_] : options_.beacon_interval;
        const auto spread = searches_ == 0 ? 0ms : std::min<std::chrono::milliseconds>(wait / 2, 100ms);
        if (burst || !peers_.empty() || searches_ % group_every == 0)
            ask_everybody(spread, burst || searches_ % group_every == 0, now);
        ++searches_;
        next_search_ = now + jittered(wait);
    }
    if (interested_) {
        registry_.expire(now);
        send_questions(now);
    }
}

time_point beacon_node::next_turn() const {
    time_point next = std::min(next_beacon_, next_search_);
    for (const late_answer& answer : late_)
        next = std::min(next, answer.when);
    return interested_ ? std::min(next, registry_.next_turn()) : next;
}

} // namespace rivulet::discovery
