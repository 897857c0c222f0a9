#include <rivulet/stream_info.hpp>

#include <rivulet/error.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace rivulet {
namespace {

constexpr std::uint64_t max_channels = 1u << 20;
constexpr std::size_t max_name_bytes = 256;
constexpr std::size_t max_id_bytes = 64;

[[noreturn]] void refuse(const std::string& message) { throw error(errc::invalid_argument, "stream info: " + message); }

void check_text(const char* field, const std::string& text, std::size_t limit) {
    if (text.size() > limit)
        refuse(fmt::format("{} has {} bytes, at most {} are allowed", field, text.size(), limit));
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            refuse(fmt::format("{} contains the control character 0x{:02x}; use printable UTF-8", field,
                               static_cast<unsigned char>(c)));
}

/// What relays write, and names of files may be made of.
void check_id(const char* field, const std::string& id, bool may_be_empty) {
    const bool fits =
        id.size() <= max_id_bytes && (may_be_empty || !id.empty()) && std::ranges::all_of(id, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        });
    if (!fits)
        refuse(fmt::format("{} is no id: up to {} of 0-9, A-Z, a-z, - and _ are allowed", field, max_id_bytes));
}

const metadata* channel_node(const stream_info& info, std::uint64_t index) noexcept {
    const metadata* channels = info.desc.find("channels");
    return channels && index < channels->children().size() ? &channels->children()[index] : nullptr;
}

std::string_view channel_value(const stream_info& info, std::uint64_t index, std::string_view key) noexcept {
    const metadata* node = channel_node(info, index);
    return node ? node->value_at(key) : std::string_view();
}

} // namespace

channel_editor& channel_editor::set(std::string_view key, std::string text) {
    node_->child(key).value(std::move(text));
    return *this;
}
channel_editor& channel_editor::label(std::string text) { return set("label", std::move(text)); }
channel_editor& channel_editor::unit(std::string text) { return set("unit", std::move(text)); }
channel_editor& channel_editor::type(std::string text) { return set("type", std::move(text)); }

channel_editor stream_info::channel(std::uint64_t index) {
    if (index >= channel_count)
        refuse(fmt::format("there is no channel {}: the stream has {} (0 to {})", index, channel_count,
                           channel_count ? channel_count - 1 : 0));
    metadata& channels = desc.child("channels");
    while (channels.children().size() <= index)
        channels.append("channel");
    return channel_editor(channels.children()[index]);
}

std::string_view stream_info::label(std::uint64_t index) const noexcept { return channel_value(*this, index, "label"); }
std::string_view stream_info::unit(std::uint64_t index) const noexcept { return channel_value(*this, index, "unit"); }

void validate(const stream_info& info) {
    if (info.name.empty())
        refuse("name is empty; give the stream a name");
    check_text("name", info.name, max_name_bytes);
    check_text("type", info.type, max_name_bytes);
    check_text("source_id", info.source_id, max_name_bytes);
    check_text("session", info.session, 64);
    check_id("origin", info.origin, true);
    for (const std::string& relay : info.relays)
        check_id("relays", relay, false);
    if (info.relays.size() > max_relays)
        refuse(fmt::format("it has passed {} relays, at most {} are allowed", info.relays.size(), max_relays));
    if (to_string(info.format) == "unknown")
        refuse(fmt::format("format {} is no channel format", static_cast<int>(info.format)));
    if (info.channel_count == 0)
        refuse("channel_count is 0; a stream has at least one channel");
    if (info.channel_count > max_channels)
        refuse(fmt::format("channel_count is {}, at most {} are allowed", info.channel_count, max_channels));
    if (info.format == channel_format::blob && info.channel_count != 1)
        refuse(fmt::format("channel_count is {}; a blob stream has exactly one channel", info.channel_count));
    if (!std::isfinite(info.nominal_rate_hz) || info.nominal_rate_hz < 0)
        refuse(
            fmt::format("nominal_rate_hz is {}; give a finite rate in Hz, or 0 for irregular", info.nominal_rate_hz));
}

} // namespace rivulet
