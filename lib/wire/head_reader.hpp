#pragma once

#include "byte_order.hpp"
#include "frame_kind.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rivulet::wire {

/// Reads the few msgpack types of data and status heads, without allocating. The first error sticks; after it
/// everything reads as 0 and nothing moves, so a caller may check once after several reads.
/// Integers are taken in any of msgpack's encodings, signed ones too unless negative, as libraries differ in which they
/// choose.
class head_reader {
public:
    explicit head_reader(bytes_view bytes) noexcept : at_(bytes.data()), end_(at_ + bytes.size()) {}

    frame_error error() const noexcept { return error_; }
    std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
    /// The next byte without taking it; 0xC1, which begins nothing, when there is none.
    std::uint8_t peek() const noexcept {
        return at_ == end_ ? std::uint8_t{0xC1} : std::to_integer<std::uint8_t>(*at_);
    }

    void fail(frame_error error) noexcept {
        if (error_ == frame_error::none)
            error_ = error;
        at_ = end_;
    }

    std::uint64_t read_uint() noexcept {
        const std::uint8_t type = take_type();
        if (type <= 0x7f)
            return type;
        switch (type) {
        case 0xcc: return take<std::uint8_t>();
        case 0xcd: return take<std::uint16_t>();
        case 0xce: return take<std::uint32_t>();
        case 0xcf: return take<std::uint64_t>();
        case 0xd0: return take_signed<std::uint8_t>();
        case 0xd1: return take_signed<std::uint16_t>();
        case 0xd2: return take_signed<std::uint32_t>();
        case 0xd3: return take_signed<std::uint64_t>();
        default: fail(frame_error::bad_field); return 0;
        }
    }

    /// As read_uint; larger than 32 bits is bad_field.
    std::uint32_t read_uint32() noexcept {
        const std::uint64_t value = read_uint();
        if (value <= std::numeric_limits<std::uint32_t>::max())
            return static_cast<std::uint32_t>(value);
        fail(frame_error::bad_field);
        return 0;
    }

    double read_float64() noexcept {
        if (take_type() == 0xcb)
            return std::bit_cast<double>(take<std::uint64_t>());
        fail(frame_error::bad_field);
        return 0;
    }

    std::uint32_t read_array_header() noexcept {
        const std::uint8_t type = take_type();
        if ((type & 0xf0u) == 0x90u)
            return type & 0x0fu;
        switch (type) {
        case 0xdc: return take<std::uint16_t>();
        case 0xdd: return take<std::uint32_t>();
        default: fail(frame_error::bad_field); return 0;
        }
    }

    std::uint32_t read_bin_header() noexcept {
        switch (take_type()) {
        case 0xc4: return take<std::uint8_t>();
        case 0xc5: return take<std::uint16_t>();
        case 0xc6: return take<std::uint32_t>();
        default: fail(frame_error::bad_field); return 0;
        }
    }

    bytes_view read_bytes(std::size_t size) noexcept {
        if (size > left()) {
            fail(frame_error::truncated);
            return {};
        }
        const bytes_view bytes(at_, size);
        at_ += size;
        return bytes;
    }

    /// A reserved element: nil or a bin, of whatever content.
    void skip_reserved() noexcept {
        if (peek() == 0xc0)
            take_type();
        else
            read_bytes(read_bin_header());
    }

private:
    std::uint8_t take_type() noexcept {
        if (at_ != end_)
            return std::to_integer<std::uint8_t>(*at_++);
        fail(frame_error::truncated);
        return 0;
    }

    template<class U>
    U take() noexcept {
        if (left() < sizeof(U)) {
            fail(frame_error::truncated);
            return 0;
        }
        const U value = load<U>(at_, std::endian::big);
        at_ += sizeof(U);
        return value;
    }

    template<class U>
    U take_signed() noexcept {
        const U value = take<U>();
        if (value <= std::numeric_limits<U>::max() / 2)
            return value;
        fail(frame_error::bad_field);
        return 0;
    }

    const std::byte* at_;
    const std::byte* end_;
    frame_error error_ = frame_error::none;
};

} // namespace rivulet::wire
