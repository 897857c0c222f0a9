#include "msgpack_mutator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace rivulet::fuzz {
namespace {

using kind = msgpack_value::kind;

constexpr std::size_t max_depth = 40;

std::size_t pick(random_source& random, std::size_t below) { return below == 0 ? 0 : random() % below; }
bool one_in(random_source& random, std::size_t n) { return pick(random, n) == 0; }

/// A big-endian number of so many bytes at `at`, which moves on.
bool take_number(const std::uint8_t* data, std::size_t size, std::size_t& at, std::size_t bytes, std::uint64_t& out) {
    if (size - at < bytes)
        return false;
    out = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        out = out << 8 | data[at++];
    return true;
}

void put_number(std::string& out, std::uint64_t number, std::size_t bytes) {
    for (std::size_t i = bytes; i-- > 0;)
        out += static_cast<char>(number >> (8 * i) & 0xff);
}

/// What a first byte announces.
struct announcement {
    kind what = kind::nil;
    std::uint64_t inline_number = 0; ///< a number, or a length
    std::size_t number_bytes = 0;    ///< of a number or length that follows
    bool sign = false;
    bool known = true;
};

announcement announced_by(std::uint8_t b) {
    if (b < 0x80)
        return {kind::positive, b, 0, false, true};
    if (b < 0x90)
        return {kind::map, b & 0x0fu, 0, false, true};
    if (b < 0xa0)
        return {kind::array, b & 0x0fu, 0, false, true};
    if (b < 0xc0)
        return {kind::text, b & 0x1fu, 0, false, true};
    if (b >= 0xe0)
        return {kind::negative, static_cast<std::uint64_t>(static_cast<std::int8_t>(b)), 0, false, true};
    switch (b) {
    case 0xc0: return {};
    case 0xc2:
    case 0xc3: return {kind::boolean, b & 1u, 0, false, true};
    case 0xc4:
    case 0xc5:
    case 0xc6: return {kind::bin, 0, std::size_t{1} << (b - 0xc4), false, true};
    case 0xca: return {kind::float32, 0, 4, false, true};
    case 0xcb: return {kind::float64, 0, 8, false, true};
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return {kind::positive, 0, std::size_t{1} << (b - 0xcc), false, true};
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return {kind::negative, 0, std::size_t{1} << (b - 0xd0), true, true};
    case 0xd9:
    case 0xda:
    case 0xdb: return {kind::text, 0, std::size_t{1} << (b - 0xd9), false, true};
    case 0xdc:
    case 0xdd: return {kind::array, 0, std::size_t{2} << (b - 0xdc), false, true};
    case 0xde:
    case 0xdf: return {kind::map, 0, std::size_t{2} << (b - 0xde), false, true};
    default: return {kind::nil, 0, 0, false, false};
    }
}

/// `wide`: this many encodings longer than necessary, as far as there are such.
void put_length(std::string& out, std::size_t length, std::size_t wide, std::span<const std::uint8_t> markers,
                std::size_t first_bytes) {
    std::size_t bytes = first_bytes, i = 0;
    while (i + 1 < markers.size() && (wide > i || length >> (8 * bytes) != 0)) {
        bytes *= 2;
        ++i;
    }
    out += static_cast<char>(markers[i]);
    put_number(out, length, bytes);
}

void put_uint(std::string& out, std::uint64_t n, std::size_t wide) {
    static constexpr std::array<std::uint8_t, 4> markers{0xcc, 0xcd, 0xce, 0xcf};
    if (n < 0x80 && wide == 0)
        out += static_cast<char>(n);
    else if (n >> 32 != 0)
        out += '\xcf', put_number(out, n, 8);
    else
        put_length(out, n, wide, markers, 1);
}

void put_int(std::string& out, std::uint64_t bits, std::size_t wide) {
    const auto n = static_cast<std::int64_t>(bits);
    if (n < 0 && n >= -32 && wide == 0)
        out += static_cast<char>(n);
    else
        out += '\xd3', put_number(out, bits, 8);
}

std::uint64_t interesting_number(random_source& random) {
    const auto edge = std::uint64_t{1} << pick(random, 64);
    switch (pick(random, 4)) {
    case 0: return pick(random, 300);
    case 1: return edge;
    case 2: return edge - 1;
    default: return ~std::uint64_t{0} - pick(random, 3);
    }
}

double interesting_real(random_source& random) {
    static constexpr std::array<double, 12> all{0.0,   -0.0,   1.0,  0.5,   12.5,   -1.0,
                                                1e308, 1e-308, 1e18, -1e18, 2.0e-5, 1000.0};
    if (one_in(random, 8))
        return std::bit_cast<double>(std::uint64_t{0x7ff0000000000000} | pick(random, 2) << 50);
    return all[pick(random, all.size())];
}

void mutate_bytes(std::string& bytes, random_source& random) {
    switch (pick(random, 5)) {
    case 0: bytes.resize(pick(random, 80), 'x'); return;
    case 1: bytes.resize(bytes.size() + (one_in(random, 2) ? 1 : 8)); return;
    case 2: bytes += bytes.substr(0, 1000); return;
    default: break;
    }
    const std::size_t size = bytes.size();
    bytes.resize(size + 16);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

/// Mostly with letters that may stand in a name: else it ends at the check for UTF-8 or control characters.
void mutate_text(std::string& text, random_source& random) {
    mutate_bytes(text, random);
    if (!one_in(random, 4))
        for (char& c : text)
            if (c < 0x20 || c == 0x7f)
                c = static_cast<char>('a' + (c & 0x0f));
}

msgpack_value fresh_value(random_source& random) {
    switch (pick(random, 7)) {
    case 0: return {};
    case 1: return msgpack_value::uint(interesting_number(random));
    case 2: return {kind::float64, std::bit_cast<std::uint64_t>(interesting_real(random)), {}, {}};
    case 3: return msgpack_value::str(std::string(pick(random, 20), 'y'));
    case 4: return {kind::bin, 0, std::string(pick(random, 40), '\1'), {}};
    case 5: return {kind::array, 0, {}, std::vector<msgpack_value>(pick(random, 4))};
    default: return {kind::negative, interesting_number(random), {}, {}};
    }
}

void mutate_items(msgpack_value& value, random_source& random) {
    auto& items = value.items;
    const std::size_t unit = value.what == kind::map ? 2 : 1;
    const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i * unit); };
    const std::size_t count = items.size() / unit;
    switch (pick(random, 5)) {
    case 0:
        if (count != 0) {
            const std::size_t i = pick(random, count);
            items.erase(at(i), at(i + 1));
        }
        return;
    case 1:
        if (count != 0 && items.size() < 4096) {
            const std::size_t i = pick(random, count);
            const std::vector<msgpack_value> copy(at(i), at(i + 1));
            for (std::size_t left = one_in(random, 4) ? 1 + pick(random, 40) : 1; left > 0; --left)
                items.insert(at(pick(random, items.size() / unit + 1)), copy.begin(), copy.end());
        }
        return;
    case 2:
        if (count > 1)
            std::swap_ranges(at(0), at(1), at(1 + pick(random, count - 1)));
        return;
    case 3:
        for (std::size_t i = 0; i < unit; ++i)
            items.push_back(fresh_value(random));
        return;
    default:
        if (value.what == kind::array) { // a level deeper
            msgpack_value inner = value;
            items.assign(1, std::move(inner));
        }
    }
}

void mutate_value(msgpack_value& value, random_source& random) {
    if (one_in(random, 12)) {
        value = fresh_value(random);
        return;
    }
    switch (value.what) {
    case kind::nil: value = fresh_value(random); return;
    case kind::boolean: value.number ^= 1; return;
    case kind::positive:
    case kind::negative:
        value.number =
            one_in(random, 2) ? value.number + (one_in(random, 2) ? 1 : ~std::uint64_t{0}) : interesting_number(random);
        return;
    case kind::float32:
        value.number = std::bit_cast<std::uint32_t>(static_cast<float>(interesting_real(random)));
        return;
    case kind::float64: value.number = std::bit_cast<std::uint64_t>(interesting_real(random)); return;
    case kind::text: mutate_text(value.bytes, random); return;
    case kind::bin: mutate_bytes(value.bytes, random); return;
    case kind::array:
    case kind::map: mutate_items(value, random); return;
    }
}

void collect(msgpack_value& value, std::vector<msgpack_value*>& out) {
    out.push_back(&value);
    for (msgpack_value& item : value.items)
        collect(item, out);
}

} // namespace

bool read_msgpack(const std::uint8_t* data, std::size_t size, std::size_t& at, msgpack_value& out, std::size_t depth) {
    if (at >= size || depth > max_depth)
        return false;
    const announcement a = announced_by(data[at++]);
    std::uint64_t number = a.inline_number;
    if (!a.known || (a.number_bytes != 0 && !take_number(data, size, at, a.number_bytes, number)))
        return false;
    if (a.sign && a.number_bytes < 8 && number >> (8 * a.number_bytes - 1) != 0)
        number |= ~std::uint64_t{0} << (8 * a.number_bytes);
    out = {a.what, 0, {}, {}};
    switch (a.what) {
    case kind::text:
    case kind::bin:
        if (number > size - at)
            return false;
        out.bytes.assign(reinterpret_cast<const char*>(data + at), static_cast<std::size_t>(number));
        at += static_cast<std::size_t>(number);
        return true;
    case kind::array:
    case kind::map: {
        const std::uint64_t count = a.what == kind::map ? 2 * number : number;
        for (std::uint64_t i = 0; i < count; ++i) // each takes at least a byte of what is there
            if (!read_msgpack(data, size, at, out.items.emplace_back(), depth + 1))
                return false;
        return true;
    }
    default: out.number = number; return true;
    }
}

void write_msgpack(const msgpack_value& value, random_source& random, std::string& out) {
    static constexpr std::array<std::uint8_t, 3> texts{0xd9, 0xda, 0xdb}, bins{0xc4, 0xc5, 0xc6};
    static constexpr std::array<std::uint8_t, 2> arrays{0xdc, 0xdd}, maps{0xde, 0xdf};
    const std::size_t wide = one_in(random, 20) ? 1 + pick(random, 3) : 0;
    switch (value.what) {
    case kind::nil: out += '\xc0'; return;
    case kind::boolean: out += static_cast<char>(0xc2 | (value.number & 1)); return;
    case kind::positive: return put_uint(out, value.number, wide);
    case kind::negative: return put_int(out, value.number, wide);
    case kind::float32: out += '\xca', put_number(out, value.number, 4); return;
    case kind::float64: out += '\xcb', put_number(out, value.number, 8); return;
    case kind::text:
        if (value.bytes.size() < 32 && wide == 0)
            out += static_cast<char>(0xa0 | value.bytes.size());
        else
            put_length(out, value.bytes.size(), wide, texts, 1);
        out += value.bytes;
        return;
    case kind::bin: put_length(out, value.bytes.size(), wide, bins, 1), out += value.bytes; return;
    case kind::array:
    case kind::map: {
        const bool map = value.what == kind::map;
        const std::size_t count = value.items.size() / (map ? 2 : 1);
        if (count < 16 && wide == 0)
            out += static_cast<char>((map ? 0x80 : 0x90) | count);
        else
            put_length(out, count, wide, map ? maps : arrays, 2);
        for (std::size_t i = 0; i < count * (map ? 2 : 1); ++i)
            write_msgpack(value.items[i], random, out);
        return;
    }
    }
}

void mutate_tree(msgpack_value& root, random_source& random) {
    do {
        std::vector<msgpack_value*> all;
        collect(root, all);
        msgpack_value& target = *all[pick(random, all.size())];
        if (one_in(random, 8)) { // one value in place of another
            const msgpack_value copy = *all[pick(random, all.size())];
            target = copy;
        } else {
            mutate_value(target, random);
        }
    } while (one_in(random, 3));
}

std::size_t mutate_msgpack(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                           void (*repair)(msgpack_value& root)) {
    random_source random(seed);
    msgpack_value root;
    std::size_t at = 0;
    if (one_in(random, 6) || !read_msgpack(data, size, at, root))
        return LLVMFuzzerMutate(data, size, max_size);
    mutate_tree(root, random);
    if (repair != nullptr && !one_in(random, 8))
        repair(root);
    std::string out;
    write_msgpack(root, random, out);
    if (out.size() > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, out.data(), out.size());
    return out.size();
}

} // namespace rivulet::fuzz
