#include "clock_frame.hpp"

#include "checked_unpack.hpp"
#include "frame_packer.hpp"
#include "msgpack_fields.hpp"

#include <cmath>

namespace rivulet::wire {

std::vector<std::byte> encode_clock(const clock_record& record) {
    std::vector<std::byte> bytes;
    vector_sink sink(bytes);
    frame_packer<vector_sink> pack(sink);
    pack.pack_array(5);
    pack.pack_uint8(clock_record_kind);
    pack.pack_float64(record.local_s);
    pack.pack_float64(record.offset_s);
    pack.pack_float64(record.uncertainty_s);
    pack.pack_map(record.reset ? 3 : 2);
    pack.pack_text("number");
    pack.pack_uint64(record.number);
    pack.pack_text("rtt");
    pack.pack_float64(record.rtt_s);
    if (record.reset) {
        pack.pack_text("reset");
        pack.pack_uint8(1);
    }
    return bytes;
}

frame_error decode_clock(bytes_view frame, clock_record& out) {
    const auto kind = peek_kind(frame);
    if (!kind || *kind != clock_record_kind)
        return frame_error::not_a_frame;
    if (frame.size() > max_clock_record_bytes)
        return frame_error::too_large;
    msgpack::object_handle handle;
    if (const frame_error error = checked_unpack(frame, {.values = 64, .depth = 4, .text_bytes = 256}, handle);
        error != frame_error::none)
        return error;
    const msgpack::object* const fields = handle.get().via.array.ptr; // five: the first byte says so
    clock_record record;
    std::uint64_t reset = 0;
    const bool good = read_field(fields[1], record.local_s) && read_field(fields[2], record.offset_s) &&
                      read_field(fields[3], record.uncertainty_s) &&
                      read_map(fields[4], [&](std::string_view key, const msgpack::object& value) {
                          return key == "number"  ? read_field(value, record.number)
                                 : key == "rtt"   ? read_field(value, record.rtt_s)
                                 : key == "reset" ? read_field(value, reset)
                                                  : true;
                      });
    if (!good || !std::isfinite(record.local_s) || !std::isfinite(record.offset_s) ||
        !std::isfinite(record.uncertainty_s) || !std::isfinite(record.rtt_s))
        return frame_error::bad_field;
    record.reset = reset != 0;
    out = record;
    return frame_error::none;
}

} // namespace rivulet::wire
