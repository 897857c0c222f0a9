#include "service_frame.hpp"

#include "checked_unpack.hpp"
#include "frame_packer.hpp"
#include "hello.hpp"
#include "msgpack_fields.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace rivulet::wire {
namespace {

using packer = frame_packer<vector_sink>;

constexpr std::array<std::string_view, 5> op_names{"info", "time", "replay", "control", "stats"};
constexpr std::size_t max_text_bytes = 1024;
constexpr std::size_t values_of_consumer = 16;
constexpr std::size_t values_beside = 256;

/// A frame under construction: its first two elements are written, and msgpack's packer for the rest.
struct frame_writer {
    frame_writer(frame_kind kind, std::uint64_t id) {
        pack.pack_array(5);
        pack.pack_uint8(static_cast<std::uint8_t>(kind));
        pack.pack_uint64(id);
    }
    void text(std::string_view key, std::string_view value) {
        pack.pack_text(key);
        pack.pack_text(value);
    }
    void number(std::string_view key, std::uint64_t value) {
        pack.pack_text(key);
        pack.pack_uint64(value);
    }
    void real(std::string_view key, double value) {
        pack.pack_text(key);
        pack.pack_float64(value);
    }
    void bin(std::string_view key, bytes_view value) {
        pack.pack_text(key);
        pack.pack_bin(static_cast<std::uint32_t>(value.size()));
        pack.pack_bin_body(reinterpret_cast<const char*>(value.data()), static_cast<std::uint32_t>(value.size()));
    }
    std::vector<std::byte> finish() {
        pack.pack_nil();
        return std::move(bytes);
    }

    std::vector<std::byte> bytes;
    vector_sink sink{bytes};
    packer pack{sink};
};

void begin_result(frame_writer& out, reply_status status, std::uint32_t keys) {
    out.pack.pack_uint8(static_cast<std::uint8_t>(status));
    out.pack.pack_map(keys);
}

bool read_bin(const msgpack::object& from, bytes_view& out) noexcept {
    if (from.type != msgpack::type::BIN)
        return false;
    out = {reinterpret_cast<const std::byte*>(from.via.bin.ptr), from.via.bin.size};
    return true;
}

bool read_number(const msgpack::object& from, double& out) noexcept {
    return read_field(from, out) && std::isfinite(out);
}

bool read_short(const msgpack::object& from, std::string& out) {
    std::string_view text;
    if (!read_field(from, text) || text.size() > max_uid_bytes ||
        std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
        return false;
    out = text;
    return true;
}

bool read_op(const msgpack::object& from, service_op& out) noexcept {
    std::string_view name;
    if (!read_field(from, name))
        return false;
    const auto* const found = std::ranges::find(op_names, name);
    out = static_cast<service_op>(found - op_names.begin());
    return found != op_names.end();
}

bool read_arguments(const msgpack::object& from, service_request& out) {
    bool has_range = false;
    const bool fits = read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "uid")
            return read_short(value, out.uid);
        if (key == "t1")
            return read_number(value, out.t1);
        if (key == "from")
            return read_field(value, out.from);
        if (key == "to")
            return has_range = read_field(value, out.to);
        if (key == "consumer")
            return read_short(value, out.consumer);
        if (key == "name")
            return read_short(value, out.name);
        if (key == "sent_at")
            return read_number(value, out.sent_at);
        if (key == "about")
            return read_field(value, out.about.emplace());
        if (key == "data")
            return read_bin(value, out.data);
        return true;
    });
    return fits && !out.uid.empty() && out.data.size() <= max_control_bytes &&
           (out.op != service_op::replay || (has_range && out.from <= out.to));
}

bool read_consumer(const msgpack::object& from, consumer_stats& out) {
    return read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "id")
            return read_field(value, out.id);
        if (key == "name")
            return read_field(value, out.name);
        if (key == "address")
            return read_field(value, out.address);
        if (key == "link")
            return read_field(value, out.link);
        if (key == "sent")
            return read_field(value, out.sent);
        if (key == "dropped")
            return read_field(value, out.dropped);
        if (key == "lag")
            return read_field(value, out.lag);
        return true;
    });
}

bool read_consumers(const msgpack::object& from, std::vector<consumer_stats>& out) {
    if (from.type != msgpack::type::ARRAY || from.via.array.size > max_stats_consumers)
        return false;
    out.resize(from.via.array.size);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (!read_consumer(from.via.array.ptr[i], out[i]))
            return false;
    return true;
}

bool read_stats(const msgpack::object& from, outlet_stats& out) {
    return read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "pushed")
            return read_field(value, out.pushed);
        if (key == "sent")
            return read_field(value, out.sent);
        if (key == "dropped")
            return read_field(value, out.dropped);
        if (key == "consumers")
            return read_field(value, out.consumers);
        if (key == "kicked")
            return read_field(value, out.kicked);
        if (key == "ignored")
            return read_field(value, out.ignored);
        if (key == "refused")
            return read_field(value, out.refused);
        if (key == "current")
            return read_consumers(value, out.current);
        return true;
    });
}

bool read_frames(const msgpack::object& from, std::vector<bytes_view>& out) {
    if (from.type != msgpack::type::ARRAY || from.via.array.size > max_replay_frames)
        return false;
    out.resize(from.via.array.size);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (!read_bin(from.via.array.ptr[i], out[i]))
            return false;
    return true;
}

bool read_unix_ns(const msgpack::object& from, std::int64_t& out) noexcept {
    std::uint64_t ns = 0;
    if (!read_field(from, ns) || ns > static_cast<std::uint64_t>(INT64_MAX))
        return false;
    out = static_cast<std::int64_t>(ns);
    return true;
}

bool read_result(const msgpack::object& from, service_reply& out) {
    return read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "text")
            return read_field(value, out.text);
        if (key == "t1")
            return read_number(value, out.t1);
        if (key == "t2")
            return read_number(value, out.t2);
        if (key == "t3")
            return read_number(value, out.t3);
        if (key == "unix_ns")
            return read_unix_ns(value, out.unix_ns);
        if (key == "info")
            return read_bin(value, out.info);
        if (key == "from")
            return read_field(value, out.from);
        if (key == "next")
            return read_field(value, out.next);
        if (key == "frames")
            return read_frames(value, out.frames);
        if (key == "data")
            return read_bin(value, out.data);
        if (key == "stats")
            return read_stats(value, out.stats);
        return true;
    });
}

void put_big_endian(std::byte* to, std::uint64_t value, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i)
        to[i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
}

} // namespace

std::string_view to_string(service_op op) noexcept { return op_names[static_cast<std::size_t>(op)]; }

// --- requests -------------------------------------------------------------------------------------------------------

std::vector<std::byte> encode_request(const service_request& request) {
    if (request.data.size() > max_control_bytes)
        throw error(errc::limit_exceeded, fmt::format("control message: {} bytes, at most {} are allowed",
                                                      request.data.size(), max_control_bytes));
    frame_writer out(frame_kind::request, request.id);
    out.pack.pack_text(to_string(request.op));
    switch (request.op) {
    case service_op::info:
    case service_op::stats: out.pack.pack_map(1); break;
    case service_op::time:
        out.pack.pack_map(2);
        out.real("t1", request.t1);
        break;
    case service_op::replay:
        out.pack.pack_map(3);
        out.number("from", request.from);
        out.number("to", request.to);
        break;
    case service_op::control:
        out.pack.pack_map(request.about ? 6 : 5);
        out.text("consumer", request.consumer);
        out.text("name", request.name);
        out.real("sent_at", request.sent_at);
        if (request.about)
            out.number("about", *request.about);
        out.bin("data", request.data);
        break;
    }
    out.text("uid", request.uid);
    return out.finish();
}

request_error decode_request(bytes_view frame, service_request& out) {
    if (check_kind(frame, frame_kind::request) != frame_error::none || frame.size() > max_request_bytes)
        return request_error::no_request;
    msgpack::object_handle unpacked;
    const unpack_budget budget{.values = 64, .depth = 4, .text_bytes = max_control_bytes};
    if (checked_unpack(frame, budget, unpacked) != frame_error::none)
        return request_error::no_request;
    const msgpack::object* const parts = unpacked->via.array.ptr; // five of them: check_kind saw the first byte
    service_request request;
    if (!read_field(parts[1], request.id))
        return request_error::no_request;
    out.id = request.id;
    if (parts[2].type != msgpack::type::STR)
        return request_error::malformed;
    if (!read_op(parts[2], request.op))
        return request_error::unknown_op;
    if (!read_arguments(parts[3], request))
        return request_error::malformed;
    out = std::move(request);
    return request_error::none;
}

// --- replies --------------------------------------------------------------------------------------------------------

std::vector<std::byte> encode_refusal(std::uint64_t id, reply_status status, std::string_view text) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, status, 1);
    out.text("text", text.substr(0, max_text_bytes));
    return out.finish();
}

std::vector<std::byte> encode_time_reply(std::uint64_t id, double t1, double t2, double t3, std::int64_t unix_ns) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, reply_status::ok, 4);
    out.real("t1", t1);
    out.real("t2", t2);
    out.real("t3", t3);
    out.number("unix_ns", static_cast<std::uint64_t>(std::max<std::int64_t>(unix_ns, 0)));
    return out.finish();
}

std::vector<std::byte> encode_info_reply(std::uint64_t id, bytes_view info_frame) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, reply_status::ok, 1);
    out.bin("info", info_frame);
    return out.finish();
}

std::vector<std::byte> encode_control_reply(std::uint64_t id, bytes_view data,
                                            std::optional<std::string_view> refusal) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, refusal ? reply_status::refused : reply_status::ok, refusal ? 2 : 1);
    if (refusal)
        out.text("text", refusal->substr(0, max_text_bytes));
    out.bin("data", data);
    return out.finish();
}

std::vector<std::byte> encode_stats_reply(std::uint64_t id, const outlet_stats& stats) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, reply_status::ok, 1);
    out.pack.pack_text("stats");
    out.pack.pack_map(8);
    out.number("pushed", stats.pushed);
    out.number("sent", stats.sent);
    out.number("dropped", stats.dropped);
    out.number("consumers", stats.consumers);
    out.number("kicked", stats.kicked);
    out.number("ignored", stats.ignored);
    out.number("refused", stats.refused);
    const std::size_t shown = std::min(stats.current.size(), max_stats_consumers);
    out.pack.pack_text("current");
    out.pack.pack_array(static_cast<std::uint32_t>(shown));
    for (std::size_t i = 0; i < shown; ++i) {
        const consumer_stats& one = stats.current[i];
        out.pack.pack_map(7);
        out.text("id", one.id);
        out.text("name", one.name);
        out.text("address", one.address);
        out.text("link", one.link);
        out.number("sent", one.sent);
        out.number("dropped", one.dropped);
        out.number("lag", one.lag);
    }
    return out.finish();
}

replay_writer::replay_writer(std::uint64_t id, std::uint64_t from) {
    frame_writer out(frame_kind::reply, id);
    begin_result(out, reply_status::ok, 3);
    out.number("from", from);
    out.pack.pack_text("next");
    next_at_ = out.bytes.size() + 1;
    out.pack.pack_fix_uint64(0);
    out.pack.pack_text("frames");
    count_at_ = out.bytes.size() + 1;
    constexpr std::array<char, 5> array32{'\xdd'};
    out.sink.write(array32.data(), array32.size());
    bytes_ = std::move(out.bytes);
}

void replay_writer::add(const data_head& head, bytes_view first, bytes_view second) {
    const std::array<bytes_view, 5> pieces{head.head, head.column, head.tail, first, second};
    std::size_t size = 0;
    for (const bytes_view piece : pieces)
        size += piece.size();
    vector_sink sink(bytes_);
    packer(sink).pack_bin(static_cast<std::uint32_t>(size));
    bytes_.reserve(bytes_.size() + size + 1);
    for (const bytes_view piece : pieces)
        sink.write(reinterpret_cast<const char*>(piece.data()), piece.size());
    ++count_;
}

std::vector<std::byte> replay_writer::finish(std::uint64_t next) {
    put_big_endian(bytes_.data() + next_at_, next, sizeof next);
    put_big_endian(bytes_.data() + count_at_, count_, sizeof count_);
    bytes_.push_back(std::byte{0xc0}); // nil
    return std::move(bytes_);
}

frame_error decode_reply(bytes_view frame, std::size_t max_bytes, service_reply& out) {
    if (const frame_error error = check_kind(frame, frame_kind::reply); error != frame_error::none)
        return error;
    if (frame.size() > max_bytes)
        return frame_error::too_large;
    msgpack::object_handle unpacked;
    const unpack_budget budget{
        .values = values_beside + values_of_consumer * max_stats_consumers, .depth = 6, .text_bytes = max_bytes};
    if (const frame_error error = checked_unpack(frame, budget, unpacked); error != frame_error::none)
        return error;
    const msgpack::object* const parts = unpacked->via.array.ptr;
    service_reply reply;
    std::uint64_t status = 0;
    if (!read_field(parts[1], reply.id) || !read_field(parts[2], status) || !read_result(parts[3], reply))
        return frame_error::bad_field;
    // A status of a later version is a refusal of some kind.
    reply.status = status > static_cast<std::uint64_t>(reply_status::refused) ? reply_status::refused
                                                                              : static_cast<reply_status>(status);
    out = std::move(reply);
    return frame_error::none;
}

} // namespace rivulet::wire
