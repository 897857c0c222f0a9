#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rivulet::platform {

/// Text from outside as it may stand in a message: one line, control characters escaped, at most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 120);

/// Bytes of the UTF-8 character that begins at text[at] (shortest form, no surrogates); 0 = there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) noexcept;
bool is_utf8(std::string_view text) noexcept;

/// The candidate that `text` looks like a misspelling of: one slip (two, in names of six letters and more), where a
/// slip is a letter too many, missing, wrong, or two swapped; upper and lower case are equal. "" = none is near.
std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates);

} // namespace rivulet::platform
