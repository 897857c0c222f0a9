#include "fuzz_target.hpp"

#include <wire/frame.hpp>

using namespace rivulet;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wire::hello hello;
    if (!fuzz::count(wire::decode_hello(fuzz::as_view(data, size), hello) == wire::frame_error::none))
        return 0;
    require(size <= wire::max_hello_bytes, "a hello is small");
    require(wire::to_string(hello.tok).size() == 32, "a token has 32 digits");
    const auto bytes = wire::encode_hello(hello);
    require(bytes.size() <= wire::max_hello_bytes, "a hello that we send is small");
    wire::hello again;
    require(wire::decode_hello(bytes, again) == wire::frame_error::none, "what was decoded can be encoded");
    require(again.tok == hello.tok && again.name == hello.name && again.history_ns == hello.history_ns &&
                again.resume_uid == hello.resume_uid,
            "what is encoded again means the same");
    require(hello.resume_uid.empty() || again.resume_from == hello.resume_from, "a resumption keeps its place");
    return 0;
}
