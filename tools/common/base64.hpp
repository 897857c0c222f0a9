#pragma once

#include <optional>
#include <string>
#include <string_view>

/// RFC 4648 with padding: how blobs stand in text outputs.
namespace rivulet::tools {

void append_base64(std::string& out, std::string_view bytes);
/// Nothing when the text is no complete, padded base64.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace rivulet::tools
