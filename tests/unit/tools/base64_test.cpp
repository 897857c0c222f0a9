#include "common/base64.hpp"

#include <gtest/gtest.h>

namespace rivulet::tools {
namespace {

std::string encoded(std::string_view bytes) {
    std::string out;
    append_base64(out, bytes);
    return out;
}

TEST(Base64, KnownVectors) {
    const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                           {"f", "Zg=="},
                                                           {"fo", "Zm8="},
                                                           {"foo", "Zm9v"},
                                                           {"foob", "Zm9vYg=="},
                                                           {"fooba", "Zm9vYmE="},
                                                           {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(encoded(bytes), text);
        EXPECT_EQ(decode_base64(text), bytes);
    }
}

TEST(Base64, EveryByteSurvives) {
    std::string all;
    for (int i = 0; i < 256; ++i)
        all += static_cast<char>(i);
    for (std::size_t length = 0; length <= all.size(); ++length)
        ASSERT_EQ(decode_base64(encoded(all.substr(0, length))), all.substr(0, length));
}

TEST(Base64, DamagedTextIsRefused) {
    for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zm9*", "Zg==Zg==", "Zh=="})
        EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

} // namespace
} // namespace rivulet::tools
