#include "platform/text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rivulet::platform {
namespace {

bool is_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Optimal string alignment distance, three rows kept.
std::size_t slips(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

} // namespace

std::string printable(std::string_view text, std::size_t limit) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_length(text, at);
        std::string piece(text.substr(at, std::max<std::size_t>(length, 1)));
        const auto byte = static_cast<unsigned char>(text[at]);
        // U+0080..U+009F are control characters too, and terminals obey them.
        const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
        if (length == 0 || c1 || is_control(text[at])) {
            piece.clear();
            for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i) {
                const auto value = static_cast<unsigned char>(text[at + i]);
                piece += {'\\', 'x', hex[value >> 4], hex[value & 15]};
            }
        }
        if (out.size() + piece.size() > limit)
            return out + "...";
        out += piece;
        at += std::max<std::size_t>(length, 1);
    }
    return out;
}

std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    if (at >= text.size())
        return 0;
    const std::uint32_t first = byte(at);
    if (first < 0x80)
        return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() - at < length)
        return 0;
    std::uint32_t code = first & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0) != 0x80)
            return 0;
        code = (code << 6) | (byte(at + i) & 0x3f);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

std::string_view nearest(std::string_view text, std::span<const std::string_view> candidates) {
    constexpr std::size_t longest = 64;
    std::string_view best;
    std::size_t best_slips = 3;
    if (text.empty() || text.size() > longest)
        return best;
    for (const std::string_view candidate : candidates) {
        if (std::max(text.size(), candidate.size()) - std::min(text.size(), candidate.size()) > 2)
            continue; // each letter more is a slip
        const std::size_t count = slips(text, candidate);
        if (count <= (candidate.size() >= 6 ? 2u : 1u) && count < best_slips) {
            best = candidate;
            best_slips = count;
        }
    }
    return best;
}

} // namespace rivulet::platform
