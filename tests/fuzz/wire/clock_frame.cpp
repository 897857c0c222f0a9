#include "fuzz_target.hpp"

#include <cmath>
#include <wire/frame.hpp>

using namespace rivulet;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clock_record record;
    if (!fuzz::count(wire::decode_clock(fuzz::as_view(data, size), record) == wire::frame_error::none))
        return 0;
    require(size <= wire::max_clock_record_bytes, "a clock record is small");
    require(std::isfinite(record.local_s) && std::isfinite(record.offset_s) && std::isfinite(record.uncertainty_s) &&
                std::isfinite(record.rtt_s),
            "numbers are numbers");
    clock_record again;
    require(wire::decode_clock(wire::encode_clock(record), again) == wire::frame_error::none,
            "what was decoded can be encoded");
    require(again == record, "what is encoded again means the same");
    return 0;
}
