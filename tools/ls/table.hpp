#pragma once

#include "common/json.hpp"

#include <rivulet/resolver.hpp>

#include <string>
#include <vector>

namespace rivulet::tools {

/// Streams as a table for people, one a line below a line of headings. What is not printable is escaped.
std::string to_table(const std::vector<found_stream>& streams);
/// One line for people.
std::string to_line(const found_stream& stream);
/// The fields of one stream, into an object that is open.
void to_json(const found_stream& stream, json_writer& out);

} // namespace rivulet::tools
