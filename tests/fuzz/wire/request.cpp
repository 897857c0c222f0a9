#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <wire/service_frame.hpp>

#include <algorithm>

using namespace rivulet;
using fuzz::require;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return fuzz::mutate_msgpack(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wire::service_request request;
    if (!fuzz::count(wire::decode_request(fuzz::as_view(data, size), request) == wire::request_error::none))
        return 0;
    require(request.data.size() <= max_control_bytes && request.uid.size() <= 64, "limits hold");
    const auto frame = wire::encode_request(request);
    wire::service_request again;
    require(wire::decode_request(frame, again) == wire::request_error::none, "what was decoded can be encoded");
    require(again.id == request.id && again.op == request.op && again.uid == request.uid, "it means the same");
    if (request.op == wire::service_op::control)
        require(std::ranges::equal(again.data, request.data) && again.about == request.about &&
                    again.name == request.name,
                "a control message means the same");
    if (request.op == wire::service_op::replay)
        require(again.from == request.from && again.to == request.to && again.from <= again.to, "so does a range");
    return 0;
}
