#pragma once

#include "common/json.hpp"

#include <rivulet/context.hpp>
#include <rivulet/outlet.hpp>
#include <rivulet/resolver.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rivulet::tools {

/// A stream and what its outlet told of itself; nothing where it was not asked, or did not answer.
struct listed_stream {
    found_stream stream;
    std::optional<stream_info> whole{}; ///< with its metadata
    std::optional<outlet_stats> stats{};
};

/// What was asked of outlets besides.
struct details {
    bool metadata = false;
    bool stats = false;
    discovery_stats discovery{}; ///< shown with the outlets' counters
    bool any() const noexcept { return metadata || stats; }
};

/// Streams as a table for people, one a line below a line of headings; below it, what was asked besides. What is not
/// printable is escaped.
std::string to_table(const std::vector<listed_stream>& streams, const details& shown);
/// One line for people.
std::string to_line(const found_stream& stream);
/// The fields of one stream, into an object that is open. `metadata` and `stats`, where shown, are null for streams
/// that did not answer.
void to_json(const listed_stream& stream, const details& shown, json_writer& out);

} // namespace rivulet::tools
