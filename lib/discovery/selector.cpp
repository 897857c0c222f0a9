#include "discovery/glob.hpp"
#include "platform/text.hpp"

#include <rivulet/resolver.hpp>

#include <fmt/format.h>

namespace rivulet {

bool matches(const stream_selector& selector, const found_stream& stream) {
    const auto fits = [](const std::string& glob, const std::string& text) {
        return glob.empty() || discovery::glob_matches(glob, text);
    };
    return fits(selector.name, stream.info.name) && fits(selector.type, stream.info.type) &&
           fits(selector.source_id, stream.info.source_id) && fits(selector.uid, stream.info.uid) &&
           (!selector.where || selector.where(stream));
}

std::string to_string(const stream_selector& selector) {
    std::string out;
    const auto add = [&](std::string_view what, const std::string& glob) {
        if (!glob.empty())
            out += fmt::format("{}{} \"{}\"", out.empty() ? "" : ", ", what, platform::printable(glob));
    };
    add("name", selector.name);
    add("type", selector.type);
    add("source id", selector.source_id);
    add("uid", selector.uid);
    if (selector.where)
        out += out.empty() ? "a condition" : ", a condition";
    return out.empty() ? "any stream" : out;
}

} // namespace rivulet
