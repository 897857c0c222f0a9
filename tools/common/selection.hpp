#pragma once

#include "common/cli.hpp"

#include <rivulet/resolver.hpp>

#include <string>
#include <vector>

namespace rivulet::tools {

/// Which streams are meant, by options that may be given several times: one of the names, and one of the types, ...
struct selection {
    std::vector<std::string> names, types, source_ids, uids;
    via way = via::direct;

    bool given() const noexcept { return !names.empty() || !types.empty() || !source_ids.empty() || !uids.empty(); }
    stream_selector selector() const;
    std::string to_string() const; ///< for messages
};

/// --name, --type, --source-id, --uid, --via.
void add_selection_options(CLI::App& app, selection& target, const std::string& group);

/// Why nothing, or too little, was found: for stderr.
std::string not_found_message(const selection& wanted, std::uint64_t minimum, const resolver& search, double waited_s,
                              const context& ctx);

} // namespace rivulet::tools
