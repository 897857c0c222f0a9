#pragma once

#include <wire/frame.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <string_view>
#include <vector>

namespace rivulet::wire {

inline void PrintTo(frame_error error, std::ostream* out) { *out << "the frame " << to_string(error); }

/// Bytes put together piece by piece, by hand.
class byte_string {
public:
    byte_string() = default;
    byte_string(std::initializer_list<int> bytes) { add(bytes); }

    byte_string& add(std::initializer_list<int> bytes) {
        for (const int b : bytes)
            bytes_.push_back(static_cast<std::byte>(b));
        return *this;
    }
    byte_string& add(bytes_view bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    byte_string& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
    byte_string& repeat(int byte, std::size_t times) {
        bytes_.insert(bytes_.end(), times, static_cast<std::byte>(byte));
        return *this;
    }
    /// Any integer or floating-point value, in the byte order asked for.
    template<class T>
    byte_string& value(T v, std::endian order = std::endian::big) {
        std::array<std::byte, sizeof(T)> raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(v);
        if (order != std::endian::native)
            std::reverse(raw.begin(), raw.end());
        return add(bytes_view(raw));
    }

    operator bytes_view() const { return bytes_; } // NOLINT: the point of the class
    std::size_t size() const { return bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
};

/// A copy in a heap block of exactly its size, so that AddressSanitizer sees any read beyond it.
class exact_copy {
public:
    explicit exact_copy(bytes_view from) : size_(from.size()), bytes_(new std::byte[from.size()]) {
        std::copy(from.begin(), from.end(), bytes_.get());
    }
    operator bytes_view() const { return {bytes_.get(), size_}; } // NOLINT: as above

private:
    std::size_t size_;
    std::unique_ptr<std::byte[]> bytes_;
};

inline std::vector<std::byte> join(std::initializer_list<bytes_view> parts) {
    std::vector<std::byte> all;
    for (const bytes_view part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

inline std::string_view as_text(bytes_view bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace rivulet::wire
