#include "fuzz_target.hpp"

#include <wire/frame.hpp>

#include <array>
#include <bit>

using namespace rivulet;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wire::status_frame status;
    if (!fuzz::count(wire::decode_status(fuzz::as_view(data, size), status) == wire::frame_error::none))
        return 0;
    std::array<std::byte, wire::status_frame_capacity> buffer;
    wire::status_frame again;
    require(wire::decode_status(wire::encode_status(status, buffer), again) == wire::frame_error::none,
            "what was decoded can be encoded");
    require(again.kind == status.kind && again.next_sequence == status.next_sequence &&
                std::bit_cast<std::uint64_t>(again.sent_at) == std::bit_cast<std::uint64_t>(status.sent_at),
            "what is encoded again means the same");
    return 0;
}
