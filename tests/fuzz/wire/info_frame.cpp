#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <rivulet/stream_info.hpp>
#include <wire/frame.hpp>

using namespace rivulet;
using fuzz::require;

namespace {

bool same(const wire::info_frame& a, const wire::info_frame& b) {
    return a.info.name == b.info.name && a.info.type == b.info.type && a.info.channel_count == b.info.channel_count &&
           a.info.nominal_rate_hz == b.info.nominal_rate_hz && a.info.format == b.info.format &&
           a.info.source_id == b.info.source_id && a.info.desc == b.info.desc && a.info.uid == b.info.uid &&
           a.info.host == b.info.host && a.info.session == b.info.session && a.info.created_at == b.info.created_at &&
           a.order == b.order && a.info.origin == b.info.origin && a.info.relays == b.info.relays &&
           a.service == b.service && a.next_sequence == b.next_sequence;
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return fuzz::mutate_msgpack(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::bytes_view frame = fuzz::as_view(data, size);
    wire::info_frame tight;
    const bool within_tight =
        wire::decode_info(frame, tight, {.bytes = 1024, .text_bytes = 64, .metadata_nodes = 8, .metadata_depth = 3}) ==
        wire::frame_error::none;
    wire::info_frame info;
    if (!fuzz::count(wire::decode_info(frame, info) == wire::frame_error::none)) {
        require(!within_tight, "what passes tight limits passes wide ones");
        return 0;
    }
    validate(info.info);
    require(!within_tight || same(info, tight), "limits change nothing in what they let through");
    wire::info_frame again;
    require(wire::decode_info(wire::encode_info(info), again) == wire::frame_error::none,
            "what was decoded can be encoded");
    require(same(info, again), "what is encoded again means the same");
    return 0;
}
