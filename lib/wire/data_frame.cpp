#include "data_frame.hpp"

#include "frame_packer.hpp"
#include "head_reader.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace rivulet::wire {
namespace {

constexpr std::uint64_t max_bin_bytes = std::numeric_limits<std::uint32_t>::max();

void pack_runs(frame_packer<fixed_sink>& pack, const data_header& header) {
    const stamp_run& first = header.runs.front();
    if (header.runs.size() == 1 && first.ahead == first.count - 1) {
        pack.pack_float64(first.base);
        return;
    }
    pack.pack_array(static_cast<std::uint32_t>(3 * header.runs.size()));
    for (const stamp_run& run : header.runs) {
        pack.pack_uint32(run.count);
        pack.pack_uint32(run.ahead);
        pack.pack_float64(run.base);
    }
}

/// Reads the runs of `count` samples into `store`; returns how many there are.
[[gnu::always_inline]] inline std::size_t read_runs(head_reader& in, std::uint32_t count,
                                                    std::span<stamp_run, max_stamp_runs> store) noexcept {
    const std::uint32_t elements = in.read_array_header();
    if (elements > 3 * max_stamp_runs) {
        in.fail(frame_error::too_large);
        return 0;
    }
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < elements / 3; ++i) {
        store[i] = {in.read_uint32(), in.read_uint32(), in.read_float64()};
        if (store[i].count == 0 || store[i].ahead < store[i].count - 1)
            in.fail(frame_error::bad_field);
        covered += store[i].count;
    }
    if (elements % 3 != 0 || covered != count)
        in.fail(frame_error::bad_field);
    return elements / 3;
}

/// The stamps of `count` samples, in whichever form they are: one of the two is empty.
struct stamps_found {
    bytes_view column{};
    std::span<const stamp_run> runs{};
};

[[gnu::always_inline]] inline stamps_found read_stamps(head_reader& in, std::uint32_t count,
                                                       std::span<stamp_run, max_stamp_runs> store) noexcept {
    switch (in.peek()) {
    case 0xcb: store[0] = {count, count - 1, in.read_float64()}; return {.runs = store.first(1)};
    case 0xc4:
    case 0xc5:
    case 0xc6: {
        const std::uint64_t bytes = in.read_bin_header();
        if (bytes != std::uint64_t{8} * count)
            in.fail(frame_error::bad_field);
        return {.column = in.read_bytes(bytes)};
    }
    default: return {.runs = store.first(read_runs(in, count, store))};
    }
}

struct head_fields {
    std::uint64_t first_sequence;
    std::uint32_t count;
    stamps_found stamps;
    std::size_t payload_bytes;
};

/// All of a data frame between its kind and its payload; to be used only when `in` has no error. This and what it
/// calls is inlined by force, for the reader and the result to stay in registers.
[[gnu::always_inline]] inline head_fields read_head(head_reader& in,
                                                    std::span<stamp_run, max_stamp_runs> store) noexcept {
    const std::uint64_t first_sequence = in.read_uint();
    const std::uint32_t count = in.read_uint32();
    if (count == 0 || first_sequence > std::numeric_limits<std::uint64_t>::max() - count)
        in.fail(frame_error::bad_field);
    const stamps_found stamps = read_stamps(in, count, store);
    return {first_sequence, count, stamps, in.read_bin_header()};
}

/// Field by field: copying a whole view that was just put together doubles the cost of a parse (store forwarding).
void fill(data_view& out, const head_fields& fields, bytes_view payload) noexcept {
    out.first_sequence = fields.first_sequence;
    out.count = fields.count;
    out.column = fields.stamps.column;
    out.runs = fields.stamps.runs;
    out.payload = payload;
}

} // namespace

data_head encode_data_head(const data_header& header, std::span<std::byte> buffer) noexcept {
    assert(header.count > 0 && header.runs.empty() != header.column.empty());
    assert(header.runs.size() <= max_stamp_runs && buffer.size() >= data_head_capacity(header.runs.size()));
    assert(header.payload_bytes <= max_bin_bytes && header.column.size_bytes() <= max_bin_bytes);

    fixed_sink sink(buffer);
    frame_packer<fixed_sink> pack(sink);
    pack.pack_array(5);
    pack.pack_uint8(static_cast<std::uint8_t>(frame_kind::data));
    pack.pack_uint64(header.first_sequence);
    pack.pack_uint32(header.count);
    if (header.column.empty()) {
        pack_runs(pack, header);
        pack.pack_bin(static_cast<std::uint32_t>(header.payload_bytes));
        return {sink.written(), {}, {}};
    }
    pack.pack_bin(static_cast<std::uint32_t>(header.column.size_bytes()));
    const std::size_t cut = sink.written().size();
    pack.pack_bin(static_cast<std::uint32_t>(header.payload_bytes));
    return {sink.written().first(cut), std::as_bytes(header.column), sink.written().subspan(cut)};
}

frame_error data_parser::parse_begun(bytes_view received, std::size_t frame_bytes, data_view& out,
                                     std::size_t& payload_bytes) noexcept {
    if (const frame_error error = check_kind(received, frame_kind::data); error != frame_error::none)
        return error;
    head_reader in(received.subspan(2));
    const head_fields fields = read_head(in, run_store_);
    if (in.error() != frame_error::none)
        return in.error();
    const std::size_t all = received.size() - in.left() + fields.payload_bytes;
    if (all != frame_bytes)
        return all > frame_bytes ? frame_error::truncated : frame_error::trailing;
    payload_bytes = fields.payload_bytes;
    fill(out, fields, in.read_bytes(in.left()));
    return frame_error::none;
}

frame_error data_parser::parse(bytes_view head, std::optional<bytes_view> body, data_view& out) noexcept {
    if (const frame_error error = check_kind(head, frame_kind::data); error != frame_error::none)
        return error;
    head_reader in(head.subspan(2));
    const head_fields fields = read_head(in, run_store_);
    const bytes_view payload = body ? *body : in.read_bytes(fields.payload_bytes);
    if (in.error() != frame_error::none)
        return in.error();
    if (in.left() != 0 || payload.size() > fields.payload_bytes)
        return frame_error::trailing;
    if (payload.size() < fields.payload_bytes)
        return frame_error::truncated;
    fill(out, fields, payload);
    return frame_error::none;
}

} // namespace rivulet::wire
