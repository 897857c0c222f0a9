#include "fuzz_target.hpp"

#include <wire/zmq_parts.hpp>

using namespace rivulet;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto sequence = wire::decode_sequence(fuzz::as_view(data, size));
    if (!fuzz::count(sequence.has_value()))
        return 0;
    require(size >= 1 && size <= 9, "a number fills its part");
    require(wire::decode_sequence(wire::encode_sequence(*sequence)) == sequence, "what is encoded again is the same");
    return 0;
}
