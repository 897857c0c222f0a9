#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <wire/frame.hpp>

#include <bit>
#include <vector>

using namespace rivulet;
using fuzz::require;

namespace {

bool same_stamps(const wire::data_view& a, const wire::data_view& b) {
    const auto same_run = [](const wire::stamp_run& x, const wire::stamp_run& y) {
        return x.count == y.count && x.ahead == y.ahead &&
               std::bit_cast<std::uint64_t>(x.base) == std::bit_cast<std::uint64_t>(y.base);
    };
    return std::ranges::equal(a.column, b.column) && std::ranges::equal(a.runs, b.runs, same_run);
}

bool same(const wire::data_view& a, const wire::data_view& b) {
    return a.first_sequence == b.first_sequence && a.count == b.count && same_stamps(a, b) &&
           std::ranges::equal(a.payload, b.payload);
}

/// The frame that our own encoder makes of what was parsed.
std::vector<std::byte> encode_again(const wire::data_view& view) {
    std::vector<double> column(view.column.size() / sizeof(double));
    if (!column.empty())
        std::memcpy(column.data(), view.column.data(), view.column.size());
    std::vector<std::byte> buffer(wire::data_head_capacity(view.runs.size()));
    const wire::data_head parts = wire::encode_data_head({.first_sequence = view.first_sequence,
                                                          .count = view.count,
                                                          .runs = view.runs,
                                                          .column = column,
                                                          .payload_bytes = view.payload.size()},
                                                         buffer);
    std::vector<std::byte> frame;
    for (const wire::bytes_view part : {parts.head, parts.column, parts.tail, view.payload})
        frame.insert(frame.end(), part.begin(), part.end());
    return frame;
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return fuzz::mutate_msgpack(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::bytes_view frame = fuzz::as_view(data, size);
    static wire::data_parser whole_parser;
    static wire::data_parser other_parser;
    wire::data_view whole;
    const bool accepted = fuzz::count(whole_parser.parse(frame, {}, whole) == wire::frame_error::none);

    // In two parts it is accepted at the payload's beginning, and nowhere else.
    for (std::size_t cut = size - std::min<std::size_t>(size, 64); cut <= size; ++cut) {
        wire::data_view split;
        const auto error = other_parser.parse(frame.first(cut), frame.subspan(cut), split);
        const bool at_payload = accepted && cut == size - whole.payload.size();
        require((error == wire::frame_error::none) == at_payload, "whole and in two parts, a frame is judged alike");
        require(!at_payload || same(whole, split), "whole and in two parts, a frame means the same");
    }
    // While it arrives it is accepted once its head is there.
    for (std::size_t have = size - std::min<std::size_t>(size, 64); have <= size; ++have) {
        wire::data_view begun;
        std::size_t payload_bytes = 0;
        const auto error = other_parser.parse_begun(frame.first(have), size, begun, payload_bytes);
        require(!accepted || (error == wire::frame_error::none) == (have >= size - whole.payload.size()),
                "what is accepted in the end is so from its head on");
        if (error == wire::frame_error::none) {
            require(have + payload_bytes - begun.payload.size() == size, "the rest of the payload is what is missing");
            require(!accepted || same_stamps(begun, whole), "a begun frame means what it means in the end");
            require(accepted, "what is refused in the end is so from its head on");
        }
    }
    if (accepted) {
        wire::data_view again;
        const auto encoded = encode_again(whole);
        require(other_parser.parse(encoded, {}, again) == wire::frame_error::none, "what was parsed can be encoded");
        require(same(whole, again), "what is encoded again means the same");
        std::uint64_t covered = whole.column.size() / sizeof(double);
        for (const wire::stamp_run& run : whole.runs)
            covered += run.count;
        require(covered == whole.count, "every sample has a stamp");
    }
    return 0;
}
