#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

/// Numbers as text, the same in every locale.
namespace rivulet::tools {

/// Appends the shortest text that reads back as exactly this value ("0.1", "1e+05", "nan", "-inf", "42").
template<class T>
void append_number(std::string& out, T value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    out.append(text, end);
}

template<class T>
std::string number_text(T value) {
    std::string out;
    append_number(out, value);
    return out;
}

/// Without the spaces and tabs around it.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

namespace detail {

template<class T>
std::optional<T> parse_exact(std::string_view text, std::errc& problem) {
    T value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    problem = end == text.data() + text.size() ? code : std::errc::invalid_argument;
    return problem == std::errc() ? std::optional(value) : std::nullopt;
}

} // namespace detail

/// Reads a number that takes up the whole text (spaces around it and a leading + are allowed); nothing otherwise.
/// Integers may be written as "5.0" or "1e3" when they are whole; floating point values too large for T become
/// infinite, those too small 0.
template<class T>
std::optional<T> parse_number(std::string_view text) {
    text = trimmed(text);
    if (text.size() > 1 && text[0] == '+' && text[1] != '-')
        text.remove_prefix(1);
    std::errc problem{};
    if (const auto value = detail::parse_exact<T>(text, problem))
        return value;
    if constexpr (std::floating_point<T>) {
        if (problem != std::errc::result_out_of_range)
            return std::nullopt;
        // from_chars does not say which end of the range was left: the exponent's sign does.
        const auto exponent = text.find_first_of("eE");
        const bool tiny = exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-');
        const T magnitude = tiny ? T(0) : std::numeric_limits<T>::infinity();
        return text.starts_with('-') ? -magnitude : magnitude;
    } else {
        if (problem != std::errc::invalid_argument)
            return std::nullopt;
        const auto real = detail::parse_exact<double>(text, problem);
        // 2^digits is exact in double, while the largest 64-bit integer is not.
        const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
        const double lowest = std::is_signed_v<T> ? -limit : 0.0;
        if (!real || std::trunc(*real) != *real || *real < lowest || *real >= limit)
            return std::nullopt;
        return static_cast<T>(*real);
    }
}

} // namespace rivulet::tools
