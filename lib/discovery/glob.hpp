#pragma once

#include <string_view>

namespace rivulet::discovery {

/// Whether a text is what a pattern describes: `*` any text, `?` any one UTF-8 character, `[abc]`, `[a-z]`, `[!a-z]`
/// one byte of a set, `\` takes the next character literally. A `[` without its `]` stands for itself. Takes at most
/// time proportional to the product of both lengths.
bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

} // namespace rivulet::discovery
