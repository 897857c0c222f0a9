#include "fuzz_target.hpp"

#include <wire/frame.hpp>

using namespace rivulet;
using fuzz::require;

/// The first byte says how many values (upper 7 bits) and in which order (lowest bit); the rest is the payload.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const wire::bytes_view payload = fuzz::as_view(data + 1, size - 1);
    const std::uint64_t values = data[0] == 0xff ? std::uint64_t{1} << 62 : data[0] >> 1;
    const std::endian order = (data[0] & 1) != 0 ? std::endian::big : std::endian::little;
    wire::text_payload text;
    if (!fuzz::count(wire::text_payload::parse(payload, values, order, text) == wire::frame_error::none))
        return 0;
    require(text.size() == values, "all values are there");
    const std::byte* next = payload.data() + 4 * (values + 1);
    for (std::uint64_t i = 0; i < values; ++i) {
        require(text[i].data() == next, "values lie one after the other");
        next += text[i].size();
    }
    require(next == payload.data() + payload.size(), "values fill the payload");
    return 0;
}
