#include "wire/zmq_parts.hpp"

#include "wire/head_reader.hpp"

namespace rivulet::wire {
namespace {

void put_big_endian(std::byte* to, std::uint64_t value, std::size_t width) noexcept {
    for (std::size_t i = 0; i < width; ++i)
        to[i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
}

constexpr std::byte msgpack_uint64{0xCF};
constexpr std::byte msgpack_bin32{0xC6};
constexpr std::byte msgpack_nil{0xC0};
constexpr std::byte padding_kind{0x7F};

} // namespace

std::array<std::byte, 9> encode_sequence(std::uint64_t sequence) noexcept {
    std::array<std::byte, 9> part{msgpack_uint64};
    put_big_endian(part.data() + 1, sequence, 8);
    return part;
}

std::optional<std::uint64_t> decode_sequence(bytes_view part) noexcept {
    head_reader in(part);
    const std::uint64_t sequence = in.read_uint();
    if (in.error() != frame_error::none || in.left() != 0)
        return std::nullopt;
    return sequence;
}

std::vector<std::byte> encode_padding(std::size_t bytes) {
    constexpr std::size_t around = 1 + 1 + 2 + 5;
    std::vector<std::byte> frame(bytes);
    frame[0] = std::byte{0x95}; // array of five: kind, nil, nil, bin, nil
    frame[1] = padding_kind;
    frame[2] = frame[3] = msgpack_nil;
    frame[4] = msgpack_bin32;
    put_big_endian(frame.data() + 5, bytes - around - 1, 4);
    frame[bytes - 1] = msgpack_nil;
    return frame;
}

} // namespace rivulet::wire
