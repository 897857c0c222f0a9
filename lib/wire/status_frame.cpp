#include "status_frame.hpp"

#include "frame_packer.hpp"
#include "head_reader.hpp"

#include <cassert>

namespace rivulet::wire {

bytes_view encode_status(const status_frame& frame, std::span<std::byte, status_frame_capacity> buffer) noexcept {
    assert(frame.kind == frame_kind::keep_alive || frame.kind == frame_kind::end);
    fixed_sink sink(buffer);
    frame_packer<fixed_sink> pack(sink);
    pack.pack_array(5);
    pack.pack_uint8(static_cast<std::uint8_t>(frame.kind));
    pack.pack_uint64(frame.next_sequence);
    pack.pack_float64(frame.sent_at);
    pack.pack_nil();
    pack.pack_nil();
    return sink.written();
}

frame_error decode_status(bytes_view frame, status_frame& out) noexcept {
    const auto kind =
        peek_kind(frame) == static_cast<std::uint8_t>(frame_kind::end) ? frame_kind::end : frame_kind::keep_alive;
    if (const frame_error error = check_kind(frame, kind); error != frame_error::none)
        return error;
    head_reader in(frame.subspan(2));
    status_frame status{.kind = kind, .next_sequence = in.read_uint(), .sent_at = in.read_float64()};
    in.skip_reserved();
    in.skip_reserved();
    if (in.error() != frame_error::none)
        return in.error();
    if (in.left() != 0)
        return frame_error::trailing;
    out = status;
    return frame_error::none;
}

} // namespace rivulet::wire
