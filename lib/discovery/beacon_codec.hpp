#pragma once

#include "discovery/udp_address.hpp"
#include "wire/frame_kind.hpp"

#include <rivulet/stream_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The datagrams of BEACON.md as bytes. Pure functions: no I/O, no clock. Any thread.
namespace rivulet::discovery {

using bytes_view = wire::bytes_view;
using datagram = std::vector<std::byte>;

inline constexpr std::size_t max_datagram_bytes = 1200;  ///< of what is sent
inline constexpr std::size_t max_passed_on_bytes = 1232; ///< with where it came from: fits the smallest IPv6 MTU
inline constexpr std::size_t max_endpoints = 16;
inline constexpr std::uint32_t parts_per_query = 32;

/// One context of one process: random, new for each.
using participant_id = std::array<std::byte, 16>;
participant_id make_participant_id();
/// What a question asks an answer to repeat, so that an old one does not pass for it: random, too.
using nonce = std::array<std::byte, 16>;

/// Tells the datagrams of one lab from others': a hash of session and multicast groups.
std::uint64_t lab_key(std::string_view session, std::string_view group, std::string_view group6) noexcept;

/// One stream, as its outlet advertises it.
struct advert {
    stream_info info{};                   ///< desc, host and session are not sent
    std::vector<std::string> endpoints{}; ///< a wildcard host: the address that the beacon came from
    std::vector<std::string> service{};   ///< where requests are answered, likewise

    friend bool operator==(const advert& a, const advert& b);
};

/// What a participant says of its streams.
struct beacon {
    std::uint64_t revision = 0; ///< of the set of its streams; grows with each change
    std::uint64_t base = 0;     ///< what is said are the changes since this revision; 0: all there is
    std::uint32_t part = 0;     ///< of `parts` datagrams that together say it
    std::uint32_t parts = 0;    ///< 0: this one says nothing but that there is this revision
    std::uint32_t total = 0;    ///< streams there are
    std::uint32_t interval_ms = 1000;
    std::string host{};
    std::vector<advert> adverts{};
    std::vector<std::string> gone{}; ///< uids
    std::optional<nonce> answered{}; ///< of the question that this answers
};

/// A question to all participants, or to one of them.
struct query {
    std::uint32_t id = 0;
    std::optional<participant_id> to{}; ///< none: everybody says what he would in a beacon
    std::uint64_t base = 0;             ///< the asker knows everything up to this revision
    std::uint64_t revision = 0;         ///< the one that first_part and wanted mean
    std::uint32_t first_part = 0;
    std::uint32_t wanted = 0;      ///< bit i: part first_part + i
    std::uint32_t spread_ms = 0;   ///< answers may be put off by up to so long
    bool to_group = false;         ///< answers go to the group: the asker seems not to get them otherwise
    std::optional<nonce> number{}; ///< that answers repeat
};

struct message {
    participant_id sender{};
    std::variant<beacon, query> body{};
    std::optional<udp_address> origin{}; ///< of a datagram that another process of this host has passed on
};

enum class beacon_error : std::uint8_t { none, malformed, foreign_version, foreign_lab, too_large, unauthenticated };

/// An advert as it stands in a beacon. Endpoints that do not fit into a datagram are left out, last first, and counted
/// in `left_out`; an advert without any endpoint left is empty. @param reserved bytes of a datagram for other use.
datagram encode_advert(const advert& a, std::size_t& left_out, std::size_t reserved = 0);
/// A stream that is gone, likewise.
datagram encode_gone(std::string_view uid);
/// Bytes that the items of a beacon may have together.
std::size_t room_for_items(std::string_view host) noexcept;
/// @param items as encode_advert and encode_gone made them. `adverts` and `gone` of `head` are not looked at.
datagram encode_beacon(std::uint64_t key, const participant_id& sender, const beacon& head,
                       std::span<const bytes_view> items);
datagram encode_query(std::uint64_t key, const participant_id& sender, const query& q);
/// The same datagram with where it came from. @param original one that decodes and has no origin.
datagram encode_passed_on(bytes_view original, const udp_address& origin);

/// `out` is meaningful only when the result is none. Beacons without their items where `items` is false: then most of
/// the work is saved. Every text of an advert satisfies validate(stream_info).
beacon_error decode(bytes_view bytes, std::uint64_t key, message& out, bool items = true);

} // namespace rivulet::discovery
