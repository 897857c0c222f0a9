#include "common/json.hpp"

#include <cstdint>

namespace rivulet::tools {
namespace {

/// Length of the well-formed UTF-8 sequence at the front of `text`; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
    const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0u; };
    const auto continues = [&](std::size_t i) { return (at(i) & 0xC0u) == 0x80u; };
    const unsigned first = at(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const bool overlong = first == 0xE0 && at(1) < 0xA0;
        const bool surrogate = first == 0xED && at(1) >= 0xA0;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool overlong = first == 0xF0 && at(1) < 0x90;
        const bool beyond = first == 0xF4 && at(1) >= 0x90;
        return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

void append_escape(std::string& out, char c) {
    switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
    }
    static constexpr char digits[] = "0123456789abcdef";
    out += "\\u00";
    out += digits[static_cast<std::uint8_t>(c) >> 4];
    out += digits[static_cast<std::uint8_t>(c) & 15];
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const char c = text.front();
        const std::size_t length = utf8_length(text);
        if (length == 0)
            out += "\xEF\xBF\xBD";
        else if (c == '"' || c == '\\' || static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F)
            append_escape(out, c);
        else
            out.append(text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

void json_writer::separate() {
    if (!first_)
        text_ += ',';
    first_ = false;
}

void json_writer::name(std::string_view key) {
    separate();
    append_json_string(text_, key);
    text_ += ':';
}

json_writer& json_writer::begin_object() {
    separate();
    text_ += '{';
    first_ = true;
    return *this;
}

json_writer& json_writer::begin_object(std::string_view key) {
    name(key);
    text_ += '{';
    first_ = true;
    return *this;
}

json_writer& json_writer::end_object() {
    text_ += '}';
    first_ = false;
    return *this;
}

json_writer& json_writer::begin_array(std::string_view key) {
    name(key);
    text_ += '[';
    first_ = true;
    return *this;
}

json_writer& json_writer::end_array() {
    text_ += ']';
    first_ = false;
    return *this;
}

json_writer& json_writer::field(std::string_view key, std::string_view text) {
    name(key);
    append_json_string(text_, text);
    return *this;
}

json_writer& json_writer::field(std::string_view key, bool value) {
    name(key);
    text_ += value ? "true" : "false";
    return *this;
}

json_writer& json_writer::null(std::string_view key) {
    name(key);
    text_ += "null";
    return *this;
}

json_writer& json_writer::element(std::string_view text) {
    separate();
    append_json_string(text_, text);
    return *this;
}

} // namespace rivulet::tools
