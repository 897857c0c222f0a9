#include "discovery/beacon_codec.hpp"

#include "platform/text.hpp"
#include "wire/checked_unpack.hpp"
#include "wire/frame_packer.hpp"
#include "wire/hello.hpp"
#include "wire/msgpack_fields.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace rivulet::discovery {
namespace {

using packer = wire::frame_packer<wire::vector_sink>;
using wire::read_field;

constexpr std::string_view tag = "rvb";
constexpr std::uint64_t version = 1;
constexpr std::uint32_t elements = 7;
constexpr std::size_t max_host_bytes = 64;
constexpr std::size_t max_endpoint_bytes = 256;
constexpr std::size_t max_uid_bytes = wire::max_uid_bytes;
constexpr std::uint32_t max_interval_ms = 60'000;
constexpr std::uint32_t max_parts = 1u << 16;
constexpr std::size_t beacon_overhead = 100; ///< at most, without items and host; a test holds it
constexpr wire::unpack_budget budget{.values = max_passed_on_bytes, .depth = 8, .text_bytes = max_passed_on_bytes};

enum class kind : std::uint8_t { beacon = 0, query = 1 };

bool is_line(std::string_view text, std::size_t limit) {
    return text.size() <= limit && platform::is_utf8(text) &&
           std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_uid(std::string_view text) noexcept {
    return !text.empty() && text.size() <= max_uid_bytes && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    });
}

bool is_endpoint(std::string_view text) {
    return is_line(text, max_endpoint_bytes) && text.find("://") != std::string_view::npos;
}

// --- writing --------------------------------------------------------------------------------------------------------

void begin(packer& pack, std::uint64_t key, kind what, const participant_id& sender) {
    pack.pack_array(elements);
    pack.pack_text(tag);
    pack.pack_uint64(version);
    pack.pack_fix_uint64(key);
    pack.pack_uint8(static_cast<std::uint8_t>(what));
    pack.pack_bin(static_cast<std::uint32_t>(sender.size()));
    pack.pack_bin_body(reinterpret_cast<const char*>(sender.data()), static_cast<std::uint32_t>(sender.size()));
}

void text(packer& pack, std::string_view key, std::string_view value) {
    pack.pack_text(key);
    pack.pack_text(value);
}

void number(packer& pack, std::string_view key, std::uint64_t value) {
    pack.pack_text(key);
    pack.pack_uint64(value);
}

void bytes(packer& pack, std::string_view key, std::span<const std::byte> value) {
    pack.pack_text(key);
    pack.pack_bin(static_cast<std::uint32_t>(value.size()));
    pack.pack_bin_body(reinterpret_cast<const char*>(value.data()), static_cast<std::uint32_t>(value.size()));
}

void list(packer& pack, std::string_view key, std::span<const std::string> values) {
    pack.pack_text(key);
    pack.pack_array(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values)
        pack.pack_text(value);
}

datagram pack_advert(const advert& a, std::size_t endpoints, std::size_t services) {
    datagram out;
    wire::vector_sink sink(out);
    packer pack(sink);
    pack.pack_map(a.info.origin.empty() ? 10 : 12);
    text(pack, "u", a.info.uid);
    text(pack, "n", a.info.name);
    text(pack, "y", a.info.type);
    text(pack, "i", a.info.source_id);
    number(pack, "c", a.info.channel_count);
    pack.pack_text("r");
    pack.pack_float64(a.info.nominal_rate_hz);
    number(pack, "f", static_cast<std::uint64_t>(a.info.format));
    pack.pack_text("a");
    pack.pack_float64(a.info.created_at);
    if (!a.info.origin.empty()) {
        text(pack, "o", a.info.origin);
        list(pack, "w", a.info.relays);
    }
    list(pack, "e", std::span(a.endpoints).first(endpoints));
    list(pack, "s", std::span(a.service).first(services));
    return out;
}

// --- reading --------------------------------------------------------------------------------------------------------

template<class T>
bool read_small(const msgpack::object& from, T& out, std::uint64_t most) noexcept {
    std::uint64_t value = 0;
    if (!read_field(from, value) || value > most)
        return false;
    out = static_cast<T>(value);
    return true;
}

bool read_id(const msgpack::object& from, participant_id& out) noexcept {
    if (from.type != msgpack::type::BIN || from.via.bin.size != out.size())
        return false;
    std::memcpy(out.data(), from.via.bin.ptr, out.size());
    return true;
}

bool read_line(const msgpack::object& from, std::string& out, std::size_t limit) {
    std::string_view value;
    if (!read_field(from, value) || !is_line(value, limit))
        return false;
    out = value;
    return true;
}

bool read_endpoints(const msgpack::object& from, std::vector<std::string>& out) {
    if (from.type != msgpack::type::ARRAY || from.via.array.size > max_endpoints)
        return false;
    for (std::uint32_t i = 0; i < from.via.array.size; ++i) {
        std::string_view value;
        if (!read_field(from.via.array.ptr[i], value) || !is_endpoint(value))
            return false;
        out.emplace_back(value);
    }
    return true;
}

bool read_relays(const msgpack::object& from, std::vector<std::string>& out) {
    if (from.type != msgpack::type::ARRAY || from.via.array.size > max_relays)
        return false;
    out.resize(from.via.array.size);
    for (std::uint32_t i = 0; i < from.via.array.size; ++i)
        if (!read_field(from.via.array.ptr[i], out[i]))
            return false;
    return true;
}

bool read_advert(const msgpack::object& from, const std::string& host, advert& out) {
    const bool read = wire::read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "u")
            return read_field(value, out.info.uid);
        if (key == "n")
            return read_field(value, out.info.name);
        if (key == "y")
            return read_field(value, out.info.type);
        if (key == "i")
            return read_field(value, out.info.source_id);
        if (key == "c")
            return read_field(value, out.info.channel_count);
        if (key == "r")
            return read_field(value, out.info.nominal_rate_hz);
        if (key == "f")
            return read_small(value, out.info.format, 255);
        if (key == "a")
            return read_field(value, out.info.created_at) && out.info.created_at - out.info.created_at == 0.0;
        if (key == "o")
            return read_field(value, out.info.origin);
        if (key == "w")
            return read_relays(value, out.info.relays);
        if (key == "e")
            return read_endpoints(value, out.endpoints);
        if (key == "s")
            return read_endpoints(value, out.service);
        return true;
    });
    if (!read || !is_uid(out.info.uid) || out.endpoints.empty())
        return false;
    try {
        validate(out.info);
    } catch (const error&) {
        return false;
    }
    out.info.host = host;
    return true;
}

bool read_items(const msgpack::object& from, beacon& out) {
    if (from.type != msgpack::type::ARRAY)
        return false;
    for (std::uint32_t i = 0; i < from.via.array.size; ++i) {
        const msgpack::object& item = from.via.array.ptr[i];
        std::string_view uid;
        if (read_field(item, uid)) {
            if (!is_uid(uid))
                return false;
            out.gone.emplace_back(uid);
        } else if (!read_advert(item, out.host, out.adverts.emplace_back())) {
            return false;
        }
    }
    return true;
}

bool read_beacon(const msgpack::object& from, beacon& out, bool items) {
    const msgpack::object* list = nullptr;
    const bool read = wire::read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "r")
            return read_field(value, out.revision);
        if (key == "b")
            return read_field(value, out.base);
        if (key == "p")
            return read_small(value, out.part, max_parts);
        if (key == "q")
            return read_small(value, out.parts, max_parts);
        if (key == "t")
            return read_small(value, out.total, UINT32_MAX);
        if (key == "v")
            return read_small(value, out.interval_ms, max_interval_ms) && out.interval_ms > 0;
        if (key == "h")
            return read_line(value, out.host, max_host_bytes);
        if (key == "e")
            return read_id(value, out.answered.emplace());
        if (key == "s")
            list = &value;
        return true;
    });
    if (!read || out.base > out.revision || (out.parts == 0 ? out.part != 0 : out.part >= out.parts))
        return false;
    if (!items)
        return true;
    return list == nullptr ? out.parts == 0 : read_items(*list, out);
}

bool read_query(const msgpack::object& from, query& out) {
    return wire::read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "d")
            return read_small(value, out.id, UINT32_MAX);
        if (key == "w")
            return read_id(value, out.to.emplace());
        if (key == "n")
            return read_id(value, out.number.emplace());
        if (key == "b")
            return read_field(value, out.base);
        if (key == "r")
            return read_field(value, out.revision);
        if (key == "p")
            return read_small(value, out.first_part, max_parts);
        if (key == "m")
            return read_small(value, out.wanted, UINT32_MAX);
        if (key == "j")
            return read_small(value, out.spread_ms, 10'000);
        if (key == "g") {
            out.to_group = value.type == msgpack::type::BOOLEAN && value.via.boolean;
            return value.type == msgpack::type::BOOLEAN;
        }
        return true;
    });
}

bool read_origin(const msgpack::object& from, std::optional<udp_address>& out) {
    if (from.type == msgpack::type::NIL)
        return true;
    if (from.type != msgpack::type::ARRAY || from.via.array.size != 2)
        return false;
    const msgpack::object& address = from.via.array.ptr[0];
    udp_address& origin = out.emplace();
    if (address.type != msgpack::type::BIN || (address.via.bin.size != 4 && address.via.bin.size != 16))
        return false;
    origin.ipv6 = address.via.bin.size == 16;
    std::memcpy(origin.bytes.data(), address.via.bin.ptr, address.via.bin.size);
    // A link-local address means nothing without its interface, which datagrams do not name.
    return read_small(from.via.array.ptr[1], origin.port, 65535) && origin.port != 0 && !origin.is_multicast() &&
           !(origin.ipv6 && origin.is_link_local());
}

} // namespace

participant_id make_participant_id() {
    const wire::token random = wire::make_token();
    participant_id out;
    std::copy(random.begin() + 1, random.end(), out.begin());
    return out;
}

std::uint64_t lab_key(std::string_view session, std::string_view group, std::string_view group6) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const std::string_view part : {session, group, group6}) {
        for (const char c : part)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        hash *= 0x100000001b3; // as a byte 0 would
    }
    return hash;
}

bool operator==(const advert& a, const advert& b) {
    return a.info.uid == b.info.uid && a.info.name == b.info.name && a.info.type == b.info.type &&
           a.info.source_id == b.info.source_id && a.info.channel_count == b.info.channel_count &&
           a.info.nominal_rate_hz == b.info.nominal_rate_hz && a.info.format == b.info.format &&
           a.info.host == b.info.host && a.info.created_at == b.info.created_at && a.info.origin == b.info.origin &&
           a.info.relays == b.info.relays && a.endpoints == b.endpoints && a.service == b.service;
}

std::size_t room_for_items(std::string_view host) noexcept {
    return max_datagram_bytes - beacon_overhead - std::min(host.size(), max_host_bytes);
}

datagram encode_advert(const advert& a, std::size_t& left_out, std::size_t reserved) {
    std::size_t endpoints = std::min(a.endpoints.size(), max_endpoints);
    std::size_t services = std::min(a.service.size(), max_endpoints);
    for (;;) {
        datagram out = pack_advert(a, endpoints, services);
        left_out = a.endpoints.size() + a.service.size() - endpoints - services;
        if (endpoints == 0)
            return {};
        if (out.size() + reserved <= room_for_items(std::string(max_host_bytes, 'x')))
            return out;
        // Data endpoints are needed most: the last of the longer list goes, of equal ones the service's.
        --(services >= endpoints ? services : endpoints);
    }
}

datagram encode_gone(std::string_view uid) {
    datagram out;
    wire::vector_sink sink(out);
    packer(sink).pack_text(uid);
    return out;
}

datagram encode_beacon(std::uint64_t key, const participant_id& sender, const beacon& head,
                       std::span<const bytes_view> items) {
    datagram out;
    out.reserve(max_datagram_bytes);
    wire::vector_sink sink(out);
    packer pack(sink);
    begin(pack, key, kind::beacon, sender);
    pack.pack_map(head.answered ? 9 : 8);
    number(pack, "r", head.revision);
    number(pack, "b", head.base);
    number(pack, "p", head.part);
    number(pack, "q", head.parts);
    number(pack, "t", head.total);
    number(pack, "v", head.interval_ms);
    text(pack, "h", head.host);
    if (head.answered)
        bytes(pack, "e", *head.answered);
    pack.pack_text("s");
    pack.pack_array(static_cast<std::uint32_t>(items.size()));
    for (const bytes_view item : items)
        sink.write(reinterpret_cast<const char*>(item.data()), item.size());
    pack.pack_nil();
    return out;
}

datagram encode_query(std::uint64_t key, const participant_id& sender, const query& q) {
    datagram out;
    wire::vector_sink sink(out);
    packer pack(sink);
    begin(pack, key, kind::query, sender);
    pack.pack_map((q.to ? 8u : 3u) + (q.number ? 1u : 0u));
    number(pack, "d", q.id);
    number(pack, "j", q.spread_ms);
    pack.pack_text("g");
    q.to_group ? pack.pack_true() : pack.pack_false();
    if (q.number)
        bytes(pack, "n", *q.number);
    if (q.to) {
        bytes(pack, "w", *q.to);
        number(pack, "b", q.base);
        number(pack, "r", q.revision);
        number(pack, "p", q.first_part);
        number(pack, "m", q.wanted);
    }
    pack.pack_nil();
    return out;
}

datagram encode_passed_on(bytes_view original, const udp_address& origin) {
    assert(!original.empty());
    datagram out(original.begin(), original.end() - 1); // all but the nil in the origin's place
    wire::vector_sink sink(out);
    packer pack(sink);
    pack.pack_array(2);
    pack.pack_bin(static_cast<std::uint32_t>(origin.size()));
    pack.pack_bin_body(reinterpret_cast<const char*>(origin.bytes.data()), static_cast<std::uint32_t>(origin.size()));
    pack.pack_uint16(origin.port);
    return out;
}

beacon_error decode(bytes_view bytes, std::uint64_t key, message& out, bool items) {
    if (bytes.size() > max_passed_on_bytes)
        return beacon_error::too_large;
    out = {};
    msgpack::object_handle handle;
    if (wire::checked_unpack(bytes, budget, handle) != wire::frame_error::none)
        return beacon_error::malformed;
    const msgpack::object& all = handle.get();
    std::string_view found_tag;
    std::uint64_t number = 0;
    if (all.type != msgpack::type::ARRAY || all.via.array.size < 2 || !read_field(all.via.array.ptr[0], found_tag) ||
        found_tag != tag || !read_field(all.via.array.ptr[1], number))
        return beacon_error::malformed;
    if (number != version)
        return beacon_error::foreign_version;
    const auto* field = all.via.array.ptr;
    kind what{};
    if (all.via.array.size != elements || !read_field(field[2], number))
        return beacon_error::malformed;
    if (number != key)
        return beacon_error::foreign_lab;
    if (!read_small(field[3], what, 255) || !read_id(field[4], out.sender) || !read_origin(field[6], out.origin))
        return beacon_error::malformed;
    const bool read = what == kind::beacon  ? read_beacon(field[5], out.body.emplace<beacon>(), items)
                      : what == kind::query ? read_query(field[5], out.body.emplace<query>())
                                            : false;
    return read ? beacon_error::none : beacon_error::malformed;
}

} // namespace rivulet::discovery
