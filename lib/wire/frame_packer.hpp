#pragma once

#include "byte_order.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <msgpack.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace rivulet::wire {

/// What msgpack's packer writes to when the bytes go into a buffer of the caller, large enough by contract.
class fixed_sink {
public:
    explicit fixed_sink(std::span<std::byte> buffer) noexcept : begin_(buffer.data()), end_(begin_ + buffer.size()) {}

    void write(const char* data, std::size_t size) noexcept {
        assert(size <= static_cast<std::size_t>(end_ - at_));
        std::memcpy(at_, data, size);
        at_ += size;
    }
    std::span<const std::byte> written() const noexcept { return {begin_, at_}; }

private:
    std::byte* begin_;
    std::byte* end_;
    std::byte* at_ = begin_;
};

/// The same for bytes that grow as needed.
class vector_sink {
public:
    explicit vector_sink(std::vector<std::byte>& out) noexcept : out_(&out) {}

    void write(const char* data, std::size_t size) {
        if (size == 0)
            return;
        const std::size_t before = out_->size();
        out_->resize(before + size); // insert makes gcc 12 warn of an overflow that is none
        std::memcpy(out_->data() + before, data, size);
    }

private:
    std::vector<std::byte>* out_;
};

/// msgpack's packer with what frames need besides.
template<class Sink>
class frame_packer : public msgpack::packer<Sink> {
public:
    explicit frame_packer(Sink& sink) noexcept : msgpack::packer<Sink>(sink), sink_(&sink) {}

    /// Less than 4 GiB by contract.
    void pack_text(std::string_view text) {
        assert(text.size() <= std::numeric_limits<std::uint32_t>::max());
        this->pack_str(static_cast<std::uint32_t>(text.size()));
        this->pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
    }

    /// A float64 whatever the value: pack_double writes whole numbers as integers, which loses the sign of -0.0 and the
    /// type that readers look for.
    void pack_float64(double value) {
        std::array<char, 1 + sizeof value> bytes{'\xcb'};
        const auto big_endian = load<std::uint64_t>(&value, std::endian::big);
        std::memcpy(bytes.data() + 1, &big_endian, sizeof big_endian);
        sink_->write(bytes.data(), bytes.size());
    }

private:
    Sink* sink_;
};

} // namespace rivulet::wire
