#include "security/keys.hpp"

#include "security/key_file.hpp"

#include <rivulet/error.hpp>
#include <rivulet/keys.hpp>

#include <sodium.h>

namespace rivulet::security {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::size_t text_bytes = 40;

void need_sodium() {
    static const bool ready = ::sodium_init() >= 0;
    if (!ready)
        throw error(errc::system, "security: libsodium cannot be used here: it found no source of random numbers");
}

} // namespace

secret_bytes::~secret_bytes() { ::sodium_memzero(bytes_.data(), bytes_.size()); }

std::string encode_key(const key_bytes& bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 4; ++k)
            group = group << 8 | bytes[i + k];
        std::array<char, 5> digits{};
        for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, group /= 85)
            *digit = alphabet[group % 85];
        out.append(digits.data(), digits.size());
    }
    return out;
}

std::optional<key_bytes> decode_key(std::string_view text) noexcept {
    if (text.size() != text_bytes)
        return std::nullopt;
    key_bytes out{};
    for (std::size_t i = 0; i < text_bytes; i += 5) {
        std::uint64_t group = 0;
        for (std::size_t k = 0; k < 5; ++k) {
            const std::size_t digit = alphabet.find(text[i + k]);
            if (digit == std::string_view::npos)
                return std::nullopt;
            group = group * 85 + digit;
        }
        if (group > UINT32_MAX)
            return std::nullopt;
        for (std::size_t k = 0; k < 4; ++k)
            out[i / 5 * 4 + k] = static_cast<std::uint8_t>(group >> (24 - 8 * k));
    }
    return out;
}

key_bytes random_key() {
    need_sodium();
    key_bytes out{};
    ::randombytes_buf(out.data(), out.size());
    return out;
}

key_bytes public_of(const secret_bytes& secret) {
    need_sodium();
    key_bytes out{};
    ::crypto_scalarmult_base(out.data(), secret.bytes().data());
    return out;
}

std::string id_of(const key_bytes& public_key) {
    constexpr std::size_t bytes = 8;
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::uint8_t, crypto_generichash_BYTES> hash{};
    ::crypto_generichash(hash.data(), hash.size(), public_key.data(), public_key.size(), nullptr, 0);
    std::string out;
    for (std::size_t i = 0; i < bytes; ++i) {
        out += digits[hash[i] >> 4];
        out += digits[hash[i] & 15];
    }
    return out;
}

proof prove(const secret_bytes& key, std::span<const std::byte> message) {
    static_assert(proof_bytes == crypto_auth_BYTES && std::tuple_size_v<key_bytes> == crypto_auth_KEYBYTES);
    proof out{};
    ::crypto_auth(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(message.data()),
                  message.size(), key.bytes().data());
    return out;
}

bool proves(const secret_bytes& key, std::span<const std::byte> message, std::span<const std::byte> given) {
    return given.size() == proof_bytes && ::crypto_auth_verify(reinterpret_cast<const unsigned char*>(given.data()),
                                                               reinterpret_cast<const unsigned char*>(message.data()),
                                                               message.size(), key.bytes().data()) == 0;
}

} // namespace rivulet::security

namespace rivulet {

key_pair make_key_pair() {
    const security::secret_bytes secret(security::random_key());
    return {std::string(security::secret_prefix) + security::encode_key(secret.bytes()),
            std::string(security::public_prefix) + security::encode_key(security::public_of(secret))};
}

std::string make_session_key() {
    return std::string(security::session_prefix) + security::encode_key(security::random_key());
}

std::string public_key_of_file(const std::string& secret_key_file) {
    const security::secret_bytes secret = security::read_secret("secret key", secret_key_file, security::secret_prefix);
    return std::string(security::public_prefix) + security::encode_key(security::public_of(secret));
}

std::string key_id(std::string_view public_key) { return security::id_of(security::parse_public("key", public_key)); }

} // namespace rivulet
