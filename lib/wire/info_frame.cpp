#include "info_frame.hpp"

#include "checked_unpack.hpp"
#include "frame_packer.hpp"
#include "hello.hpp"
#include "msgpack_fields.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace rivulet::wire {
namespace {

using packer = frame_packer<vector_sink>;

constexpr std::size_t max_host_bytes = 256;
constexpr std::size_t max_service_endpoints = 16;
constexpr std::size_t max_endpoint_bytes = 256;
constexpr std::size_t values_beside_metadata = 256;

[[noreturn]] void refuse(const std::string& what) { throw error(errc::limit_exceeded, "stream info: " + what); }

/// Writes a metadata tree, counting its nodes down.
class tree_writer {
public:
    tree_writer(packer& pack, const info_limits& limits)
        : pack_(&pack), limits_(&limits), nodes_left_(limits.metadata_nodes) {}

    void write(const metadata& node, std::size_t depth = 1) {
        if (depth > limits_->metadata_depth)
            refuse(fmt::format("metadata is nested more than {} deep, at element '{}'", limits_->metadata_depth,
                               node.name().substr(0, 64)));
        if (nodes_left_-- == 0)
            refuse(fmt::format("metadata has more than {} elements", limits_->metadata_nodes));
        pack_->pack_array(3);
        write_text(node.name(), node);
        write_text(node.value(), node);
        pack_->pack_array(static_cast<std::uint32_t>(std::min(node.children().size(), limits_->metadata_nodes)));
        for (const metadata& child : node.children())
            write(child, depth + 1);
    }

private:
    void write_text(const std::string& text, const metadata& node) {
        if (text.size() > limits_->text_bytes)
            refuse(fmt::format("metadata element '{}' has a text of {} bytes, at most {} are allowed",
                               node.name().substr(0, 64), text.size(), limits_->text_bytes));
        pack_->pack_text(text);
    }

    packer* pack_;
    const info_limits* limits_;
    std::size_t nodes_left_;
};

void write_map(packer& pack, const info_frame& frame) {
    const auto text = [&](std::string_view key, std::string_view value) {
        pack.pack_text(key);
        pack.pack_text(value);
    };
    const auto number = [&](std::string_view key, std::uint64_t value) {
        pack.pack_text(key);
        pack.pack_uint64(value);
    };
    const auto real = [&](std::string_view key, double value) {
        pack.pack_text(key);
        pack.pack_float64(value);
    };
    const stream_info& info = frame.info;
    pack.pack_map(info.relays.empty() ? 13 : 14);
    text("name", info.name);
    text("type", info.type);
    number("channels", info.channel_count);
    real("rate", info.nominal_rate_hz);
    number("format", static_cast<std::uint64_t>(info.format));
    text("source_id", info.source_id);
    text("uid", info.uid);
    text("host", info.host);
    text("session", info.session);
    real("created_at", info.created_at);
    number("next", frame.next_sequence);
    text("origin", info.origin);
    const auto list = [&](std::string_view key, const std::vector<std::string>& values) {
        pack.pack_text(key);
        pack.pack_array(static_cast<std::uint32_t>(values.size()));
        for (const std::string& value : values)
            pack.pack_text(value);
    };
    if (!info.relays.empty())
        list("relays", info.relays);
    list("service", frame.service);
}

bool is_uid(std::string_view text) noexcept {
    return text.size() <= max_uid_bytes && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
                      c == '_';
           });
}

bool is_line(std::string_view text, std::size_t limit) noexcept {
    return text.size() <= limit &&
           std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool read_format(const msgpack::object& from, channel_format& out) noexcept {
    std::uint64_t number = 0;
    if (!read_field(from, number) || number > std::numeric_limits<std::uint8_t>::max())
        return false;
    out = static_cast<channel_format>(number); // validate() checks that it is one of ours
    return true;
}

bool read_lines(const msgpack::object& from, std::vector<std::string>& out, std::size_t most) {
    if (from.type != msgpack::type::ARRAY || from.via.array.size > most)
        return false;
    out.resize(from.via.array.size);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (!read_field(from.via.array.ptr[i], out[i]) || !is_line(out[i], max_endpoint_bytes))
            return false;
    return true;
}

bool read_pairs(const msgpack::object& from, info_frame& out) {
    stream_info& info = out.info;
    bool has_channels = false;
    bool has_format = false;
    const bool fields_fit = read_map(from, [&](std::string_view key, const msgpack::object& value) {
        if (key == "name")
            return read_field(value, info.name);
        if (key == "type")
            return read_field(value, info.type);
        if (key == "channels")
            return has_channels = read_field(value, info.channel_count);
        if (key == "rate")
            return read_field(value, info.nominal_rate_hz);
        if (key == "format")
            return has_format = read_format(value, info.format);
        if (key == "source_id")
            return read_field(value, info.source_id);
        if (key == "uid")
            return read_field(value, info.uid) && is_uid(info.uid);
        if (key == "host")
            return read_field(value, info.host) && is_line(info.host, max_host_bytes);
        if (key == "session")
            return read_field(value, info.session);
        if (key == "created_at")
            return read_field(value, info.created_at) && std::isfinite(info.created_at);
        if (key == "next")
            return read_field(value, out.next_sequence);
        if (key == "origin")
            return read_field(value, info.origin);
        if (key == "relays")
            return read_lines(value, info.relays, max_relays);
        if (key == "service")
            return read_lines(value, out.service, max_service_endpoints);
        return true;
    });
    return fields_fit && has_channels && has_format;
}

/// Builds a metadata tree, counting its nodes down.
class tree_reader {
public:
    explicit tree_reader(const info_limits& limits)
        : depth_limit_(limits.metadata_depth), nodes_left_(limits.metadata_nodes) {}

    frame_error read(const msgpack::object& from, metadata& out, std::size_t depth = 1) {
        if (depth > depth_limit_ || nodes_left_-- == 0)
            return frame_error::too_large;
        if (from.type != msgpack::type::ARRAY || from.via.array.size != 3)
            return frame_error::bad_field;
        const msgpack::object* const parts = from.via.array.ptr;
        std::string name;
        std::string value;
        if (!read_field(parts[0], name) || !read_field(parts[1], value) || parts[2].type != msgpack::type::ARRAY)
            return frame_error::bad_field;
        if (parts[2].via.array.size > nodes_left_)
            return frame_error::too_large;
        out = metadata(std::move(name), std::move(value));
        out.children().resize(parts[2].via.array.size);
        for (std::size_t i = 0; i < out.children().size(); ++i)
            if (const auto error = read(parts[2].via.array.ptr[i], out.children()[i], depth + 1);
                error != frame_error::none)
                return error;
        return frame_error::none;
    }

private:
    std::size_t depth_limit_;
    std::size_t nodes_left_;
};

bool is_valid(const stream_info& info) {
    try {
        validate(info);
        return true;
    } catch (const error&) {
        return false;
    }
}

} // namespace

std::vector<std::byte> encode_info(const info_frame& frame, const info_limits& limits) {
    if (frame.service.size() > max_service_endpoints)
        refuse(
            fmt::format("{} service endpoints, at most {} are allowed", frame.service.size(), max_service_endpoints));
    std::vector<std::byte> bytes;
    vector_sink sink(bytes);
    packer pack(sink);
    pack.pack_array(5);
    pack.pack_uint8(static_cast<std::uint8_t>(frame_kind::info));
    pack.pack_uint32(format_version);
    pack.pack_text(frame.order == std::endian::little ? "<" : ">");
    write_map(pack, frame);
    tree_writer(pack, limits).write(frame.info.desc);
    if (bytes.size() > limits.bytes)
        refuse(fmt::format("it takes {} bytes with its metadata, at most {} are allowed", bytes.size(), limits.bytes));
    return bytes;
}

frame_error decode_info(bytes_view frame, info_frame& out, const info_limits& limits) {
    if (const frame_error error = check_kind(frame, frame_kind::info); error != frame_error::none)
        return error;
    if (frame.size() > limits.bytes)
        return frame_error::too_large;

    const unpack_budget budget{.values = values_beside_metadata + 4 * limits.metadata_nodes,
                               .depth = 1 + 2 * limits.metadata_depth,
                               .text_bytes = limits.text_bytes};
    msgpack::object_handle unpacked;
    if (const frame_error error = checked_unpack(frame, budget, unpacked); error != frame_error::none)
        return error;
    const msgpack::object* const parts = unpacked->via.array.ptr; // five of them: check_kind saw the first byte

    std::uint64_t version = 0;
    if (!read_field(parts[1], version) || version == 0)
        return frame_error::bad_field;
    if (version != format_version)
        return frame_error::unknown_version;
    info_frame info;
    std::string_view order;
    if (!read_field(parts[2], order) || (order != "<" && order != ">"))
        return frame_error::bad_field;
    info.order = order == "<" ? std::endian::little : std::endian::big;
    if (!read_pairs(parts[3], info) || !is_valid(info.info))
        return frame_error::bad_field;
    if (const frame_error error = tree_reader(limits).read(parts[4], info.info.desc); error != frame_error::none)
        return error;
    out = std::move(info);
    return frame_error::none;
}

} // namespace rivulet::wire
