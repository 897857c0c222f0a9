#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Keys as bytes and as text (rivulet/keys.hpp). libsodium appears in this folder only. Pure functions. Threads: any.
namespace rivulet::security {

using key_bytes = std::array<std::uint8_t, 32>;

inline constexpr std::string_view secret_prefix = "curve-secret:";
inline constexpr std::string_view public_prefix = "curve-public:";
inline constexpr std::string_view session_prefix = "session-key:";

/// Bytes that are wiped from memory with their owner.
class secret_bytes {
public:
    secret_bytes() = default;
    explicit secret_bytes(const key_bytes& bytes) noexcept : bytes_(bytes) {}
    ~secret_bytes();
    secret_bytes(const secret_bytes&) = default;
    secret_bytes& operator=(const secret_bytes&) = default;
    const key_bytes& bytes() const noexcept { return bytes_; }

private:
    key_bytes bytes_{};
};

/// 40 characters of Z85.
std::string encode_key(const key_bytes& bytes);
/// Nothing: other than 40 characters of Z85.
std::optional<key_bytes> decode_key(std::string_view text) noexcept;

key_bytes random_key();
key_bytes public_of(const secret_bytes& secret);
/// 16 hexadecimal digits that name a public key.
std::string id_of(const key_bytes& public_key);

inline constexpr std::size_t proof_bytes = 32;
using proof = std::array<std::byte, proof_bytes>;
/// HMAC-SHA-512-256 of the message under the key.
proof prove(const secret_bytes& key, std::span<const std::byte> message);
/// In constant time.
bool proves(const secret_bytes& key, std::span<const std::byte> message, std::span<const std::byte> given);

} // namespace rivulet::security
