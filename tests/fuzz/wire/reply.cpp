#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <wire/service_frame.hpp>

using namespace rivulet;
using fuzz::require;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return fuzz::mutate_msgpack(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::bytes_view frame = fuzz::as_view(data, size);
    wire::service_reply reply;
    if (!fuzz::count(wire::decode_reply(frame, size, reply) == wire::frame_error::none))
        return 0;
    const auto inside = [&](wire::bytes_view part) {
        return part.empty() || (part.data() >= frame.data() && part.data() + part.size() <= frame.data() + size);
    };
    require(inside(reply.data) && inside(reply.info), "views lie in the frame");
    require(reply.frames.size() <= wire::max_replay_frames, "limits hold");
    for (const wire::bytes_view one : reply.frames) {
        require(inside(one), "frames lie in the frame");
        wire::data_parser parser;
        wire::data_view view;
        (void)parser.parse(one, {}, view);
    }
    wire::service_reply again;
    const auto stats = wire::encode_stats_reply(reply.id, reply.stats);
    require(wire::decode_reply(stats, stats.size(), again) == wire::frame_error::none &&
                again.stats.current.size() == reply.stats.current.size() && again.stats.sent == reply.stats.sent,
            "counters survive");
    return 0;
}
