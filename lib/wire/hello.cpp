#include "hello.hpp"

#include "checked_unpack.hpp"
#include "frame_packer.hpp"
#include "msgpack_fields.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/random.h>

namespace rivulet::wire {
namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool continues_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; }

std::string presentable(std::string name) {
    if (name.size() > max_consumer_name_bytes) {
        std::size_t cut = max_consumer_name_bytes;
        while (cut > 0 && continues_character(name[cut]))
            --cut;
        name.resize(cut);
    }
    std::ranges::replace_if(name, is_control, '?');
    return name;
}

} // namespace

std::vector<std::byte> encode_hello(const hello& h) {
    std::vector<std::byte> bytes(h.tok.begin(), h.tok.end());
    bytes[0] = std::byte{hello_first_byte};
    vector_sink sink(bytes);
    frame_packer<vector_sink> pack(sink);
    const std::string name = presentable(h.name);
    const bool resumes = !h.resume_uid.empty();
    pack.pack_map(std::uint32_t{!name.empty()} + std::uint32_t{h.history_ns != 0} + (resumes ? 2u : 0u));
    if (!name.empty()) {
        pack.pack_text("n");
        pack.pack_text(name);
    }
    if (h.history_ns != 0) {
        pack.pack_text("h");
        pack.pack_uint64(h.history_ns);
    }
    if (resumes) {
        pack.pack_text("u");
        pack.pack_text(std::string_view(h.resume_uid).substr(0, max_uid_bytes));
        pack.pack_text("s");
        pack.pack_uint64(h.resume_from);
    }
    return bytes;
}

frame_error decode_hello(bytes_view bytes, hello& out) {
    if (!bytes.empty() && bytes[0] != std::byte{hello_first_byte})
        return frame_error::not_a_frame;
    if (bytes.size() > max_hello_bytes)
        return frame_error::too_large;
    if (bytes.size() < token_bytes)
        return frame_error::truncated;
    hello h;
    std::ranges::copy(bytes.first(token_bytes), h.tok.begin());
    h.tok[0] = std::byte{token_first_byte};
    if (bytes.size() > token_bytes) {
        msgpack::object_handle unpacked;
        const unpack_budget budget{.values = 64, .depth = 4, .text_bytes = max_hello_bytes};
        if (const auto error = checked_unpack(bytes.subspan(token_bytes), budget, unpacked); error != frame_error::none)
            return error;
        const bool fits = read_map(*unpacked, [&](std::string_view key, const msgpack::object& value) {
            if (key == "n")
                return read_field(value, h.name) && h.name.size() <= max_consumer_name_bytes &&
                       std::ranges::none_of(h.name, is_control);
            if (key == "h")
                return read_field(value, h.history_ns);
            if (key == "u")
                return read_field(value, h.resume_uid) && h.resume_uid.size() <= max_uid_bytes;
            if (key == "s")
                return read_field(value, h.resume_from);
            return true;
        });
        if (!fits)
            return frame_error::bad_field;
    }
    out = std::move(h);
    return frame_error::none;
}

token make_token() {
    token t;
    t[0] = std::byte{token_first_byte};
    ssize_t got = 0;
    do
        got = ::getrandom(t.data() + 1, token_bytes - 1, 0);
    while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(token_bytes - 1)) // requests of up to 256 bytes are never answered in part
        throw error(errc::system,
                    fmt::format("cannot get random bytes for a consumer token: {}", std::strerror(errno)));
    return t;
}

std::string to_string(const token& t) {
    std::string text;
    text.reserve(2 * (token_bytes - 1));
    for (const std::byte b : std::span(t).subspan(1))
        text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return text;
}

} // namespace rivulet::wire
