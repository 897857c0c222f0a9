#include <rivulet/error.hpp>
#include <rivulet/keys.hpp>
#include <security/keys.hpp>

#include <gtest/gtest.h>
#include <random>
#include <zmq.h>

namespace rivulet::security {
namespace {

key_bytes random_bytes(std::mt19937& random) {
    key_bytes out{};
    for (std::uint8_t& byte : out)
        byte = static_cast<std::uint8_t>(random());
    return out;
}

TEST(Keys, TheirTextIsThatOfEveryZeroMqProgram) {
    std::mt19937 random(7);
    for (int i = 0; i < 1000; ++i) {
        const key_bytes bytes = random_bytes(random);
        std::array<char, 41> theirs{};
        ASSERT_NE(::zmq_z85_encode(theirs.data(), bytes.data(), bytes.size()), nullptr);
        EXPECT_EQ(encode_key(bytes), theirs.data());
        EXPECT_EQ(decode_key(theirs.data()), bytes);
    }
}

TEST(Keys, OtherTextsAreNoKeys) {
    const std::string good = encode_key({});
    EXPECT_TRUE(decode_key(good));
    for (const std::string& bad :
         {std::string(), good.substr(1), good + '0', "\"" + good.substr(1), " " + good.substr(1), "\\" + good.substr(1),
          "#####" + good.substr(5), std::string(40, '\0')}) // ##### is more than 32 bits
        EXPECT_FALSE(decode_key(bad)) << bad;
}

TEST(Keys, APairIsOneForLibzmqToo) {
    const key_pair keys = make_key_pair();
    ASSERT_TRUE(keys.secret_key.starts_with(secret_prefix));
    ASSERT_TRUE(keys.public_key.starts_with(public_prefix));
    std::array<char, 41> theirs{};
    ASSERT_EQ(::zmq_curve_public(theirs.data(), keys.secret_key.c_str() + secret_prefix.size()), 0);
    EXPECT_EQ(keys.public_key, std::string(public_prefix) + theirs.data());
    EXPECT_NE(make_key_pair().secret_key, keys.secret_key);
    EXPECT_NE(make_session_key(), make_session_key());
}

TEST(Keys, AnIdNamesAPublicKeyOnly) {
    const key_pair keys = make_key_pair();
    const std::string id = key_id(keys.public_key);
    EXPECT_EQ(id.size(), 16u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_EQ(key_id(keys.public_key + " a comment"), id);
    EXPECT_NE(key_id(make_key_pair().public_key), id);
    EXPECT_THROW(key_id(keys.secret_key), error);
    EXPECT_THROW(key_id("nonsense"), error);
}

TEST(Keys, AProofFitsItsMessageAndKeyOnly) {
    const secret_bytes key(random_key()), other(random_key());
    std::array<std::byte, 100> message{};
    const proof given = prove(key, message);
    EXPECT_TRUE(proves(key, message, given));
    EXPECT_FALSE(proves(other, message, given));
    EXPECT_FALSE(proves(key, std::span(message).first(99), given));
    EXPECT_FALSE(proves(key, message, std::span(given).first(31)));
    for (std::size_t i = 0; i < given.size() * 8; ++i) {
        proof changed = given;
        changed[i / 8] ^= std::byte{1} << (i % 8);
        EXPECT_FALSE(proves(key, message, changed));
    }
}

} // namespace
} // namespace rivulet::security
