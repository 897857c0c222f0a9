#include "ls/table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rivulet::tools {
namespace {

using row = std::array<std::string, 7>;

/// Names come from the network: no control character of theirs reaches the terminal (the library refuses C0 and DEL;
/// C1 is left), and no line break the table.
std::string printable(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (c < 0x20 || c == 0x7f || c1)
            out += '?';
        else
            out += text[i];
        i += c1 ? 1 : 0;
    }
    return out;
}

/// Characters, not bytes.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string rate_of(const stream_info& info) {
    return info.nominal_rate_hz == 0 ? "irregular" : fmt::format("{:g} Hz", info.nominal_rate_hz);
}

std::string kind_of(const stream_info& info) {
    return fmt::format("{} x {}", info.channel_count, to_string(info.format));
}

row row_of(const found_stream& s) {
    return {printable(s.info.name),
            printable(s.info.type),
            kind_of(s.info),
            rate_of(s.info),
            printable(s.info.source_id),
            printable(s.info.host),
            s.endpoints.empty() ? "-" : printable(s.endpoints.front())};
}

} // namespace

std::string to_table(const std::vector<found_stream>& streams) {
    std::vector<row> rows{{"NAME", "TYPE", "CHANNELS", "RATE", "SOURCE ID", "HOST", "ENDPOINT"}};
    for (const found_stream& stream : streams)
        rows.push_back(row_of(stream));
    std::array<std::size_t, std::tuple_size_v<row>> widths{};
    for (const row& r : rows)
        for (std::size_t i = 0; i < r.size(); ++i)
            widths[i] = std::max(widths[i], width(r[i]));
    std::string out;
    for (const row& r : rows) {
        for (std::size_t i = 0; i + 1 < r.size(); ++i)
            out += r[i] + std::string(widths[i] - width(r[i]) + 2, ' ');
        out += r.back() + '\n';
    }
    return out;
}

std::string to_line(const found_stream& s) {
    return fmt::format("'{}' ({}), {} at {} from {}", printable(s.info.name), s.info.uid, kind_of(s.info),
                       rate_of(s.info), s.endpoints.empty() ? printable(s.info.host) : printable(s.endpoints.front()));
}

void to_json(const found_stream& s, json_writer& out) {
    out.field("name", s.info.name).field("type", s.info.type).field("source_id", s.info.source_id);
    out.field("uid", s.info.uid).field("channels", s.info.channel_count).field("rate_hz", s.info.nominal_rate_hz);
    out.field("format", to_string(s.info.format)).field("host", s.info.host).field("session", s.info.session);
    out.field("created_at", s.info.created_at).begin_array("endpoints");
    for (const std::string& endpoint : s.endpoints)
        out.element(endpoint);
    out.end_array().begin_array("service");
    for (const std::string& endpoint : s.service)
        out.element(endpoint);
    out.end_array();
}

} // namespace rivulet::tools
