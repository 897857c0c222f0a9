#include "config/rules.hpp"

#include "platform/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

namespace rivulet::settings {
namespace {

struct unit {
    std::string_view name;
    std::int64_t milliseconds;
};

constexpr std::array<unit, 4> units{{{"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}}};

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + '"';
}

std::string duration_text(std::chrono::milliseconds value) {
    for (const unit& u : units)
        if (value.count() != 0 && value.count() % u.milliseconds == 0)
            return fmt::format("{}{}", value.count() / u.milliseconds, u.name);
    return "0s";
}

std::string bytes_text(std::int64_t bytes) {
    constexpr std::array<std::string_view, 5> names{"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t step = 0;
    while (step + 1 < names.size() && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++step;
    }
    return fmt::format("{} {}", bytes, names[step]);
}

const std::string* text_of(const raw_value& raw, std::string& why) {
    const auto* text = std::get_if<std::string>(&raw.value);
    if (text == nullptr)
        why = fmt::format("is {}, not text in quotes", raw.kind);
    return text;
}

} // namespace

std::string raw_value::shown() const {
    if (const auto* text = std::get_if<std::string>(&value))
        return '"' + platform::printable(*text) + '"';
    if (const auto* truth = std::get_if<bool>(&value))
        return *truth ? "true" : "false";
    if (const auto* count = std::get_if<std::int64_t>(&value))
        return std::to_string(*count);
    if (const auto* number = std::get_if<double>(&value))
        return fmt::format("{}", *number);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
        return '"' + platform::printable(fmt::format("{}", fmt::join(*texts, "\", \""))) + '"';
    return "this";
}

std::optional<std::string> text_rule::read(const raw_value& raw, std::string& why) const {
    const std::string* text = text_of(raw, why);
    return text == nullptr ? std::nullopt : std::optional(*text);
}

bool text_rule::allows(const std::string& value) const {
    const bool control = std::any_of(value.begin(), value.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
    });
    return value.size() >= min_bytes && value.size() <= max_bytes && !control && platform::is_utf8(value);
}

std::string text_rule::allowed() const {
    return fmt::format("{} to {} bytes of UTF-8, no control characters", min_bytes, max_bytes);
}

std::string text_rule::literal(const std::string& value) const { return quoted(value); }

std::optional<bool> switch_rule::read(const raw_value& raw, std::string& why) const {
    if (const auto* truth = std::get_if<bool>(&raw.value))
        return *truth;
    const auto* text = std::get_if<std::string>(&raw.value);
    if (text != nullptr && raw.from_environment && (*text == "true" || *text == "1"))
        return true;
    if (text != nullptr && raw.from_environment && (*text == "false" || *text == "0"))
        return false;
    why = fmt::format("is {}, not a truth value", raw.kind);
    return std::nullopt;
}

std::optional<std::vector<std::string>> list_rule::read(const raw_value& raw, std::string& why) const {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&raw.value))
        return *texts;
    const auto* text = std::get_if<std::string>(&raw.value);
    if (text == nullptr || !raw.from_environment) {
        why = fmt::format("is {}, not an array of texts", raw.kind);
        return std::nullopt;
    }
    type items;
    for (std::size_t begin = 0; begin <= text->size();) {
        const std::size_t end = std::min(text->find(',', begin), text->size());
        std::string_view entry = std::string_view(*text).substr(begin, end - begin);
        entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
        entry = entry.substr(0, entry.find_last_not_of(' ') + 1);
        items.emplace_back(entry);
        begin = end + 1;
    }
    return items;
}

bool list_rule::allows(const std::vector<std::string>& value) const {
    return value.size() <= most &&
           std::all_of(value.begin(), value.end(), [this](const std::string& text) { return item.allows(text); });
}

std::string list_rule::allowed() const { return fmt::format("an array of at most {}, each {}", most, item.allowed()); }

std::string list_rule::literal(const std::vector<std::string>& value) const {
    std::vector<std::string> texts(value.size());
    std::transform(value.begin(), value.end(), texts.begin(), quoted);
    return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::optional<std::string> group_rule::read(const raw_value& raw, std::string& why) const {
    const std::string* text = text_of(raw, why);
    if (text == nullptr)
        return std::nullopt;
    why = "is no such address";
    return allows(*text) ? std::optional(*text) : std::nullopt;
}

bool group_rule::allows(const std::string& value) const {
    in6_addr bits{};
    if (value.find('\0') != std::string::npos || ::inet_pton(family, value.c_str(), &bits) != 1)
        return false;
    return family == AF_INET ? (bits.s6_addr[0] & 0xf0) == 0xe0 : bits.s6_addr[0] == 0xff;
}

std::string group_rule::allowed() const {
    return family == AF_INET ? "an IPv4 multicast address, \"224.0.0.0\" to \"239.255.255.255\""
                             : "an IPv6 multicast address, \"ff00::\" and up";
}

std::string group_rule::literal(const std::string& value) const { return quoted(value); }

std::optional<std::string> choice_rule::read(const raw_value& raw, std::string& why) const {
    const std::string* text = text_of(raw, why);
    if (text == nullptr)
        return std::nullopt;
    if (allows(*text))
        return *text;
    const std::string_view near = platform::nearest(*text, choices);
    why = near.empty() ? "is none of the choices" : fmt::format("is unknown, did you mean \"{}\"?", near);
    return std::nullopt;
}

bool choice_rule::allows(const std::string& value) const {
    return std::find(choices.begin(), choices.end(), value) != choices.end();
}

std::string choice_rule::allowed() const { return fmt::format("\"{}\"", fmt::join(choices, "\", \"")); }

std::string choice_rule::literal(const std::string& value) const { return quoted(value); }

std::optional<std::int64_t> count_rule::read(const raw_value& raw, std::string& why) const {
    if (const auto* count = std::get_if<std::int64_t>(&raw.value))
        return *count;
    if (const auto* text = std::get_if<std::string>(&raw.value); text != nullptr && raw.from_environment) {
        std::int64_t count = 0;
        const char* end = text->data() + text->size();
        const auto [stop, problem] = std::from_chars(text->data(), end, count);
        if (problem == std::errc{} && stop == end)
            return count;
        why = problem == std::errc::result_out_of_range ? "is out of range" : "is no whole number";
        return std::nullopt;
    }
    why = fmt::format("is {}, not a whole number", raw.kind);
    return std::nullopt;
}

std::string count_rule::allowed() const { return fmt::format("{} to {}", min, max); }

std::string count_rule::literal(std::int64_t value) const { return std::to_string(value); }

std::string bytes_rule::allowed() const {
    return fmt::format("{} to {} bytes ({} to {})", min, max, bytes_text(min), bytes_text(max));
}

std::string bytes_rule::literal(std::int64_t value) const { return fmt::format("{} # {}", value, bytes_text(value)); }

std::optional<std::uint32_t> mode_rule::read(const raw_value& raw, std::string& why) const {
    const std::string* text = text_of(raw, why);
    if (text == nullptr)
        return std::nullopt;
    std::uint32_t mode = 0;
    const char* end = text->data() + text->size();
    const auto [stop, problem] = std::from_chars(text->data(), end, mode, 8);
    if (problem == std::errc{} && stop == end)
        return mode;
    why = "is no octal number";
    return std::nullopt;
}

std::string mode_rule::allowed() const { return "\"0000\" to \"0777\", octal"; }

std::string mode_rule::literal(std::uint32_t value) const { return fmt::format("\"{:04o}\"", value); }

std::optional<std::chrono::milliseconds> duration_rule::read(const raw_value& raw, std::string& why) const {
    constexpr std::string_view hint = "a duration needs a unit: \"200ms\", \"15s\", \"2min\", \"1h\"";
    if (const auto* count = std::get_if<std::int64_t>(&raw.value); count != nullptr && *count == 0)
        return type{0};
    const auto* text = std::get_if<std::string>(&raw.value);
    if (text == nullptr) {
        why = fmt::format("is {}; {}", raw.kind, hint);
        return std::nullopt;
    }
    if (*text == "0")
        return type{0};
    double number = 0;
    const char* end = text->data() + text->size();
    const auto [stop, problem] = std::from_chars(text->data(), end, number, std::chars_format::fixed);
    const auto* u =
        std::find_if(units.begin(), units.end(), [name = std::string_view(stop, end)](const unit& candidate) {
            return candidate.name == name.substr(std::min(name.find_first_not_of(' '), name.size()));
        });
    // from_chars also takes "inf" and "nan", which begin with no digit.
    if (problem != std::errc{} || !std::isfinite(number) || u == units.end()) {
        why = fmt::format("is no duration; {}", hint);
        return std::nullopt;
    }
    const double milliseconds = number * static_cast<double>(u->milliseconds);
    constexpr double limit = 1e15;
    if (milliseconds < -limit || milliseconds > limit) {
        why = "is out of range";
        return std::nullopt;
    }
    // 1.1 s is 1100.0000000000002 ms in binary.
    if (std::abs(milliseconds - std::round(milliseconds)) > 1e-6) {
        why = "is finer than a millisecond";
        return std::nullopt;
    }
    return type{std::llround(milliseconds)};
}

std::string duration_rule::allowed() const {
    std::string words = fmt::format("\"{}\" to \"{}\"", duration_text(min), duration_text(max));
    return zero.empty() ? words : fmt::format("{}, or 0 = {}", words, zero);
}

std::string duration_rule::literal(std::chrono::milliseconds value) const { return quoted(duration_text(value)); }

} // namespace rivulet::settings
