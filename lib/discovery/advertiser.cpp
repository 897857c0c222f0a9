#include "discovery/advertiser.hpp"

#include <algorithm>

namespace rivulet::discovery {
namespace {

constexpr std::size_t most_gone = 1024;       ///< remembered for askers who missed the goodbye
constexpr std::size_t most_parts_at_once = 8; ///< of unasked changes: more would overrun small receive buffers

} // namespace

advertiser::advertiser(std::uint64_t key, const participant_id& id, std::string host, std::uint32_t interval_ms,
                       std::size_t reserved)
    : key_(key), id_(id), host_(std::move(host)), interval_ms_(interval_ms), reserved_(reserved) {}

std::size_t advertiser::add(const advert& a) {
    std::size_t left_out = 0;
    datagram bytes = encode_advert(a, left_out, reserved_);
    if (bytes.empty())
        return left_out;
    if (const auto found = revision_of_.find(a.info.uid); found != revision_of_.end())
        changes_.erase(found->second);
    changes_.emplace(++revision_, entry{a.info.uid, std::move(bytes)});
    revision_of_[a.info.uid] = revision_;
    return left_out;
}

bool advertiser::remove(const std::string& uid) {
    const auto found = revision_of_.find(uid);
    if (found == revision_of_.end())
        return false;
    changes_.erase(found->second);
    revision_of_.erase(found);
    changes_.emplace(++revision_, entry{uid, {}, true});
    if (++gone_ <= most_gone)
        return true;
    const auto oldest = std::ranges::find_if(changes_, [](const auto& change) { return change.second.gone; });
    forgotten_ = oldest->first;
    changes_.erase(oldest);
    --gone_;
    return true;
}

beacon advertiser::head(std::uint64_t base, const std::optional<nonce>& answered) const {
    beacon b;
    b.revision = revision_;
    b.base = base;
    b.total = static_cast<std::uint32_t>(size());
    b.interval_ms = interval_ms_;
    b.host = host_;
    b.answered = answered;
    return b;
}

std::vector<advertiser::position> advertiser::split(std::uint64_t base) const {
    const std::size_t room = room_for_items(host_) - reserved_;
    std::vector<position> parts;
    std::size_t used = 0;
    for (auto next = changes_.upper_bound(base); next != changes_.end(); ++next) {
        if (next->second.gone && base == 0)
            continue; // who knows nothing need not hear what is gone
        const std::size_t bytes = next->second.gone ? next->second.uid.size() + 2 : next->second.bytes.size();
        if (parts.empty() || used + bytes > room) {
            parts.push_back(next);
            used = 0;
        }
        used += bytes;
    }
    if (parts.empty())
        parts.push_back(changes_.end()); // one that is empty: there is nothing, or nothing new
    parts.push_back(changes_.end());
    return parts;
}

datagram advertiser::part(const std::vector<position>& parts, std::uint32_t number, std::uint64_t base,
                          const std::optional<nonce>& answered) const {
    std::vector<datagram> gone;
    std::vector<bytes_view> items;
    for (auto next = parts[number]; next != parts[number + 1]; ++next) {
        if (!next->second.gone)
            items.emplace_back(next->second.bytes);
        else if (base != 0)
            gone.push_back(encode_gone(next->second.uid));
    }
    items.insert(items.end(), gone.begin(), gone.end());
    beacon b = head(base, answered);
    b.part = number;
    b.parts = static_cast<std::uint32_t>(parts.size() - 1);
    return encode_beacon(key_, id_, b, items);
}

std::vector<datagram> advertiser::take_changes() {
    std::vector<datagram> out;
    if (!changed())
        return out;
    const std::uint64_t base = known_base(announced_);
    announced_ = revision_;
    const auto parts = split(base);
    if (parts.size() - 1 > most_parts_at_once)
        return {encode_beacon(key_, id_, head(0, {}), {})};
    for (std::uint32_t i = 0; i + 1 < parts.size(); ++i)
        out.push_back(part(parts, i, base, {}));
    return out;
}

datagram advertiser::sign_of_life(const std::optional<nonce>& answered) const {
    const auto parts = split(0);
    return parts.size() == 2 ? part(parts, 0, 0, answered) : encode_beacon(key_, id_, head(0, answered), {});
}

void advertiser::answer(const query& q, const std::function<void(const datagram&)>& send) const {
    const std::uint64_t base = q.base > revision_ ? 0 : known_base(q.base);
    const auto parts = split(base);
    const auto count = static_cast<std::uint32_t>(parts.size() - 1);
    // Of another revision the numbers mean other parts: from the beginning, then.
    const std::uint32_t first = q.revision == revision_ && q.first_part < count ? q.first_part : 0;
    for (std::uint32_t i = 0; i < parts_per_query && first + i < count; ++i)
        if ((q.wanted >> i & 1u) != 0)
            send(part(parts, first + i, base, q.number));
}

} // namespace rivulet::discovery
