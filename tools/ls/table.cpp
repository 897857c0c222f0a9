#include "ls/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rivulet::tools {
namespace {

using row = std::vector<std::string>;

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

std::string aligned(const std::vector<row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
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

void append_tree(std::string& out, const metadata& node, std::size_t depth) {
    out.append(2 * depth, ' ');
    out += printable(node.name());
    if (!node.value().empty())
        out += ": " + printable(node.value());
    out += '\n';
    for (const metadata& child : node.children())
        append_tree(out, child, depth + 1);
}

std::string metadata_of(const listed_stream& s) {
    std::string out = fmt::format("\n{} ({}):", printable(s.stream.info.name), s.stream.info.uid);
    if (!s.whole)
        return out + " no answer\n";
    if (s.whole->desc.children().empty())
        return out + " no metadata\n";
    out += '\n';
    for (const metadata& child : s.whole->desc.children())
        append_tree(out, child, 1);
    return out;
}

std::string stats_of(const std::vector<listed_stream>& streams) {
    std::vector<row> rows{{"NAME", "PUSHED", "SENT", "DROPPED", "KICKED", "REFUSED", "CONSUMER", "ADDRESS"}};
    for (const listed_stream& s : streams) {
        const std::string name = printable(s.stream.info.name);
        if (!s.stats) {
            rows.push_back({name, "-", "-", "-", "-", "-", "no answer", ""});
            continue;
        }
        const outlet_stats& stats = *s.stats;
        rows.push_back({name, fmt::to_string(stats.pushed), fmt::to_string(stats.sent), fmt::to_string(stats.dropped),
                        fmt::to_string(stats.kicked), fmt::to_string(stats.refused),
                        fmt::format("{} now, {} ever", stats.current.size(), stats.consumers), ""});
        for (const consumer_stats& c : stats.current)
            rows.push_back({"", "", fmt::to_string(c.sent), fmt::to_string(c.dropped), "", "",
                            c.name.empty() ? c.id : printable(c.name),
                            fmt::format("{} {}", printable(c.address), printable(c.link))});
    }
    return '\n' + aligned(rows);
}

std::string discovery_of(const discovery_stats& d) {
    return fmt::format(
        "\nbeacons and questions: {} taken, {} malformed, {} of other labs, {} too many, {} unauthenticated, "
        "{} replayed, {} unproven\n",
        d.received, d.malformed, d.foreign, d.refused, d.unauthenticated, d.replayed, d.unproven);
}

void append_json(json_writer& out, const discovery_stats& d) {
    out.field("received", d.received).field("malformed", d.malformed).field("foreign", d.foreign);
    out.field("refused", d.refused).field("unauthenticated", d.unauthenticated).field("replayed", d.replayed);
    out.field("unproven", d.unproven);
}

void append_json(json_writer& out, const metadata& node) {
    out.field("name", node.name());
    if (!node.value().empty())
        out.field("value", node.value());
    if (node.children().empty())
        return;
    out.begin_array("children");
    for (const metadata& child : node.children()) {
        append_json(out.begin_object(), child);
        out.end_object();
    }
    out.end_array();
}

void append_json(json_writer& out, const outlet_stats& stats) {
    out.field("pushed", stats.pushed).field("sent", stats.sent).field("dropped", stats.dropped);
    out.field("consumers", stats.consumers).field("kicked", stats.kicked).field("ignored", stats.ignored);
    out.field("refused", stats.refused);
    out.begin_array("current");
    for (const consumer_stats& c : stats.current) {
        out.begin_object().field("id", c.id).field("name", c.name).field("address", c.address).field("link", c.link);
        out.field("sent", c.sent).field("dropped", c.dropped).field("lag", c.lag).end_object();
    }
    out.end_array();
}

} // namespace

std::string to_table(const std::vector<listed_stream>& streams, const details& shown) {
    std::vector<row> rows{{"NAME", "TYPE", "CHANNELS", "RATE", "SOURCE ID", "HOST", "ENDPOINT"}};
    for (const listed_stream& s : streams)
        rows.push_back(row_of(s.stream));
    std::string out = aligned(rows);
    if (shown.stats)
        out += stats_of(streams) + discovery_of(shown.discovery);
    if (shown.metadata)
        for (const listed_stream& s : streams)
            out += metadata_of(s);
    return out;
}

std::string to_line(const found_stream& s) {
    return fmt::format("'{}' ({}), {} at {} from {}", printable(s.info.name), s.info.uid, kind_of(s.info),
                       rate_of(s.info), s.endpoints.empty() ? printable(s.info.host) : printable(s.endpoints.front()));
}

void to_json(const listed_stream& listed, const details& shown, json_writer& out) {
    const found_stream& s = listed.stream;
    out.field("name", s.info.name).field("type", s.info.type).field("source_id", s.info.source_id);
    out.field("uid", s.info.uid).field("channels", s.info.channel_count).field("rate_hz", s.info.nominal_rate_hz);
    out.field("format", to_string(s.info.format)).field("host", s.info.host).field("session", s.info.session);
    out.field("created_at", s.info.created_at).field("origin", s.info.origin);
    out.field("relays", s.info.relays.size()).begin_array("endpoints");
    for (const std::string& endpoint : s.endpoints)
        out.element(endpoint);
    out.end_array().begin_array("service");
    for (const std::string& endpoint : s.service)
        out.element(endpoint);
    out.end_array();
    if (shown.metadata && listed.whole) {
        append_json(out.begin_object("metadata"), listed.whole->desc);
        out.end_object();
    } else if (shown.metadata) {
        out.null("metadata");
    }
    if (shown.stats && listed.stats) {
        append_json(out.begin_object("stats"), *listed.stats);
        out.end_object();
    } else if (shown.stats) {
        out.null("stats");
    }
    if (shown.stats) {
        append_json(out.begin_object("discovery"), shown.discovery);
        out.end_object();
    }
}

} // namespace rivulet::tools
