#pragma once

#include <rivulet/stream_info.hpp>

#include <string>
#include <string_view>

/// Output paths like 'recordings/{name}-{uid}.csv'.
namespace rivulet::tools {

bool is_path_template(std::string_view path) noexcept;
/// Nothing wrong: "". Otherwise what is: a placeholder that does not exist, a brace without its partner.
std::string check_path_template(std::string_view path);
/// Replaces {name}, {type}, {source_id} and {uid}; whatever a stream calls itself, each stays one file name's part.
std::string expand_path(std::string_view path, const stream_info& info);

} // namespace rivulet::tools
