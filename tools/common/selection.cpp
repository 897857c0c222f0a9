#include "common/selection.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rivulet::tools {
namespace {

using globs = std::vector<std::string>;

/// Whether one of the globs, put into the selector's field, means the stream.
bool one_matches(const globs& wanted, std::string stream_selector::*field, const found_stream& stream) {
    return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& glob) {
               stream_selector one;
               one.*field = glob;
               return matches(one, stream);
           });
}

} // namespace

stream_selector selection::selector() const {
    stream_selector out;
    out.way = way;
    out.where = [wanted = *this](const found_stream& stream) {
        return one_matches(wanted.names, &stream_selector::name, stream) &&
               one_matches(wanted.types, &stream_selector::type, stream) &&
               one_matches(wanted.source_ids, &stream_selector::source_id, stream) &&
               one_matches(wanted.uids, &stream_selector::uid, stream);
    };
    return out;
}

std::string selection::to_string() const {
    std::string out;
    const auto add = [&](const char* what, const globs& wanted) {
        if (!wanted.empty())
            out += fmt::format("{}{} {}", out.empty() ? " with " : ", ", what, fmt::join(wanted, " or "));
    };
    add("name", names);
    add("type", types);
    add("source id", source_ids);
    add("uid", uids);
    return out;
}

void add_selection_options(CLI::App& app, selection& target, const std::string& group) {
    const auto add = [&](const std::string& flag, globs& list, const std::string& help) {
        app.add_option(flag, list, help)->type_name("GLOB")->expected(1)->take_all()->group(group);
    };
    add("--name", target.names, "Streams of that name; * and ? stand for any text, any character (repeatable)");
    add("--type", target.types, "Streams of that type, likewise");
    add("--source-id", target.source_ids, "Streams of that source, likewise");
    add("--uid", target.uids, "The stream with that uid, likewise");
    add_choice<via, via>(app, "--via", target.way, {{"direct", via::direct}, {"any", via::any}},
                         "Of a stream that relays repeat: the shortest way, or each way as a stream (default: direct)")
        ->group(group);
}

std::string not_found_message(const selection& wanted, std::uint64_t minimum, const resolver& search, double waited_s,
                              const context& ctx) {
    const auto found = search.streams().size();
    const auto others = search.others();
    std::string out = fmt::format("found {} of {} stream{}{} within {:.3g} s in session '{}'", found, minimum,
                                  minimum == 1 ? "" : "s", wanted.to_string(), waited_s, ctx.settings().session.name);
    if (!others.empty())
        out += fmt::format("; others there: {}", fmt::join(others, ", "));
    if (const std::uint64_t ignored = ctx.discovery().unauthenticated; ignored > 0)
        out += fmt::format("; {} beacon{} not made with the session key of this program", ignored,
                           ignored == 1 ? " was" : "s were");
    return out;
}

} // namespace rivulet::tools
