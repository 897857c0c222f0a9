#include "service/replay.hpp"

#include "transport/data_frame.hpp"
#include "wire/service_frame.hpp"

#include <algorithm>
#include <array>

namespace rivulet::service {
namespace {

constexpr std::size_t reply_bytes = 1u << 20;
constexpr std::uint32_t most_samples = 1u << 20;

/// How many samples of a span of texts fit into `room` bytes; at least one.
std::uint32_t fitting(const samples::log_span& span, std::size_t channels, std::size_t room) {
    const auto ends = span.offsets();
    std::uint32_t low = 1;
    for (std::uint32_t high = span.count; low < high;) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        const std::size_t bytes = middle * channels * sizeof(std::uint32_t) + ends[middle * channels] - ends[0];
        if (bytes <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void add_frame(wire::replay_writer& out, const samples::log_span& span, const target::history& kept) {
    const bool text = kept.log->variable();
    const auto offsets = text ? std::as_bytes(span.offsets()) : wire::bytes_view();
    const wire::bytes_view values = text ? span.text() : wire::bytes_view(span.samples(), span.sample_bytes());
    std::array<wire::stamp_run, wire::max_stamp_runs> runs;
    const wire::data_header header = transport::describe(span, kept.base, offsets.size() + values.size(), runs);
    std::array<std::byte, wire::data_head_capacity(wire::max_stamp_runs)> buffer;
    out.add(wire::encode_data_head(header, buffer), offsets, values);
}

} // namespace

std::vector<std::byte> replay(std::uint64_t id, const target::history& kept, std::uint64_t from, std::uint64_t to) {
    samples::sample_log& log = *kept.log;
    const std::uint64_t end = std::min(to, log.head() - kept.base);
    const std::uint64_t oldest = std::max(log.oldest(), kept.begin) - kept.base;
    std::uint64_t next = std::max(from, oldest);
    const std::size_t channels = log.options().channels;
    const std::size_t sample_bytes = value_bytes(log.options().format) * channels;
    wire::replay_writer out(id, next);
    samples::log_reader reader(kept.log, next + kept.base, false);
    while (next < end && out.bytes() < reply_bytes && out.frames() < wire::max_replay_frames) {
        const std::size_t room = reply_bytes - out.bytes();
        const std::size_t most = sample_bytes ? room / (sample_bytes + sizeof(double)) : most_samples;
        samples::log_span span = reader.peek(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(std::min<std::uint64_t>(most, end - next), 1, most_samples)));
        if (!span || span.position != next + kept.base)
            break; // just now it was dropped: the next request finds out how much is left
        if (log.variable())
            span.count = fitting(span, channels, room);
        if (out.frames() > 0 && !log.variable() && sample_bytes > room)
            break;
        add_frame(out, span, kept);
        reader.advance(span.count);
        next += span.count;
    }
    return out.finish(next);
}

} // namespace rivulet::service
