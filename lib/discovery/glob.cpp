#include "discovery/glob.hpp"

#include "platform/text.hpp"

#include <algorithm>
#include <cstddef>

namespace rivulet::discovery {
namespace {

constexpr auto npos = std::string_view::npos;

/// Where the set that begins at pattern[at] ends (its `]`); npos: it is none.
std::size_t set_end(std::string_view pattern, std::size_t at) noexcept {
    std::size_t first = at + 1;
    if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^'))
        ++first;
    return first < pattern.size() ? pattern.find(']', first + 1) : npos;
}

bool set_has(std::string_view set, char c) noexcept {
    const bool negated = set.front() == '!' || set.front() == '^';
    if (negated)
        set.remove_prefix(1);
    bool found = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (i + 2 < set.size() && set[i + 1] == '-') {
            found |= set[i] <= c && c <= set[i + 2];
            i += 2;
        } else {
            found |= set[i] == c;
        }
    }
    return found != negated;
}

/// Matches one pattern element other than `*`; moves both positions on when it does.
bool match_one(std::string_view pattern, std::size_t& p, std::string_view text, std::size_t& t) noexcept {
    if (p >= pattern.size() || t >= text.size())
        return false;
    switch (pattern[p]) {
    case '?':
        t += std::max<std::size_t>(platform::utf8_length(text, t), 1);
        ++p;
        return true;
    case '[':
        if (const std::size_t end = set_end(pattern, p); end != npos) {
            if (!set_has(pattern.substr(p + 1, end - p - 1), text[t]))
                return false;
            p = end + 1;
            ++t;
            return true;
        }
        break;
    case '\\':
        if (p + 1 < pattern.size()) {
            if (pattern[p + 1] != text[t])
                return false;
            p += 2;
            ++t;
            return true;
        }
        break;
    default: break;
    }
    if (pattern[p] != text[t])
        return false;
    ++p;
    ++t;
    return true;
}

} // namespace

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0, t = 0;
    std::size_t star = npos, resume = 0; // the last `*`, and where its text would end one character later
    while (t < text.size() || p < pattern.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
            continue;
        }
        if (match_one(pattern, p, text, t))
            continue;
        if (star == npos || resume >= text.size())
            return false;
        p = star + 1;
        t = ++resume;
    }
    return true;
}

} // namespace rivulet::discovery
