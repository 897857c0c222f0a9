#include "common/output_path.hpp"

#include <array>
#include <fmt/format.h>

namespace rivulet::tools {
namespace {

constexpr std::array<std::string_view, 4> placeholders = {"name", "type", "source_id", "uid"};

std::string_view value_of(std::string_view placeholder, const stream_info& info) {
    if (placeholder == "name")
        return info.name;
    if (placeholder == "type")
        return info.type;
    return placeholder == "uid" ? info.uid : info.source_id;
}

/// No separators, no control characters, nothing that is hidden or means a folder, and short enough for a file name.
std::string safe_part(std::string_view text, bool starts_name) {
    constexpr std::size_t longest = 120;
    std::string out;
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        const bool unsafe =
            byte < 0x20 || byte == 0x7F || std::string_view("/\\:*?\"<>|").find(c) != std::string_view::npos;
        out += unsafe ? '_' : c;
    }
    // A cut must not split a UTF-8 character.
    if (text.size() > longest)
        while (!out.empty() && (static_cast<unsigned char>(text[out.size()]) & 0xC0) == 0x80)
            out.pop_back();
    if (out.empty())
        return "_";
    if (starts_name && (out[0] == '.' || out[0] == '-'))
        out[0] = '_';
    return out;
}

} // namespace

bool is_path_template(std::string_view path) noexcept { return path.find('{') != std::string_view::npos; }

std::string check_path_template(std::string_view path) {
    while (!path.empty()) {
        const auto open = path.find_first_of("{}");
        if (open == std::string_view::npos)
            return {};
        const auto close = path.find('}', open);
        if (path[open] == '}' || close == std::string_view::npos)
            return "a brace without its partner";
        const auto inside = path.substr(open + 1, close - open - 1);
        bool known = false;
        for (const auto placeholder : placeholders)
            known |= placeholder == inside;
        if (!known)
            return fmt::format("no placeholder {{{}}}: there are {{name}}, {{type}}, {{source_id}} and {{uid}}",
                               inside);
        path.remove_prefix(close + 1);
    }
    return {};
}

std::string expand_path(std::string_view path, const stream_info& info) {
    std::string out;
    while (!path.empty()) {
        const auto open = path.find('{');
        const auto close = open == std::string_view::npos ? open : path.find('}', open);
        out += path.substr(0, close == std::string_view::npos ? path.size() : open);
        if (close == std::string_view::npos)
            break;
        const bool starts_name = out.empty() || out.back() == '/';
        out += safe_part(value_of(path.substr(open + 1, close - open - 1), info), starts_name);
        path.remove_prefix(close + 1);
    }
    return out;
}

} // namespace rivulet::tools
