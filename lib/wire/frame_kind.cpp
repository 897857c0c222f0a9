#include "frame_kind.hpp"

namespace rivulet::wire {
namespace {

constexpr std::uint8_t last_fixint = 0x7f;
constexpr auto last_kind = static_cast<std::uint8_t>(frame_kind::reply);

} // namespace

std::string_view to_string(frame_error error) noexcept {
    switch (error) {
    case frame_error::none: return "is valid";
    case frame_error::truncated: return "ends before its own lengths say";
    case frame_error::trailing: return "has bytes after its end";
    case frame_error::not_a_frame: return "does not begin as a Rivulet frame";
    case frame_error::unknown_kind: return "is of a kind that this version does not know";
    case frame_error::unknown_version: return "is of a later version of the format; update this program";
    case frame_error::bad_field: return "has a field of the wrong type or out of range";
    case frame_error::too_large: return "is beyond a limit of the format";
    }
    return "is not valid";
}

std::optional<std::uint8_t> peek_kind(bytes_view frame) noexcept {
    if (frame.size() < 2 || frame[0] != std::byte{frame_first_byte} || frame[1] > std::byte{last_fixint})
        return std::nullopt;
    return static_cast<std::uint8_t>(frame[1]);
}

frame_error check_kind(bytes_view frame, frame_kind wanted) noexcept {
    if (const auto kind = peek_kind(frame)) {
        if (*kind == static_cast<std::uint8_t>(wanted))
            return frame_error::none;
        return *kind <= last_kind ? frame_error::bad_field : frame_error::unknown_kind;
    }
    const bool cut_short = frame.empty() || (frame.size() == 1 && frame[0] == std::byte{frame_first_byte});
    return cut_short ? frame_error::truncated : frame_error::not_a_frame;
}

} // namespace rivulet::wire
