#pragma once

#include <cstdint>
#include <msgpack.hpp>
#include <string>
#include <string_view>

namespace rivulet::wire {

// Reads of single fields from an unpacked msgpack value: false, and `out` as it was, when the type is another.

inline bool read_field(const msgpack::object& from, std::string_view& out) noexcept {
    if (from.type != msgpack::type::STR)
        return false;
    out = {from.via.str.ptr, from.via.str.size};
    return true;
}

inline bool read_field(const msgpack::object& from, std::string& out) {
    std::string_view text;
    if (!read_field(from, text))
        return false;
    out = text;
    return true;
}

inline bool read_field(const msgpack::object& from, std::uint64_t& out) noexcept {
    if (from.type != msgpack::type::POSITIVE_INTEGER)
        return false;
    out = from.via.u64;
    return true;
}

/// Any number, as dynamic languages write 100 for 100.0.
inline bool read_field(const msgpack::object& from, double& out) noexcept {
    switch (from.type) {
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64: out = from.via.f64; return true;
    case msgpack::type::POSITIVE_INTEGER: out = static_cast<double>(from.via.u64); return true;
    case msgpack::type::NEGATIVE_INTEGER: out = static_cast<double>(from.via.i64); return true;
    default: return false;
    }
}

/// Calls field(key, value) for each pair of a map with text keys, other keys being ignored; false when it is no map or
/// when a call says so.
template<class Field>
bool read_map(const msgpack::object& from, Field&& field) {
    if (from.type != msgpack::type::MAP)
        return false;
    for (std::uint32_t i = 0; i < from.via.map.size; ++i) {
        const msgpack::object_kv& pair = from.via.map.ptr[i];
        std::string_view key;
        if (read_field(pair.key, key) && !field(key, pair.val))
            return false;
    }
    return true;
}

} // namespace rivulet::wire
