#include "wire_test_support.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace rivulet::wire {
namespace {

TEST(CopySwapped, ReversesEachValueAtAnyAlignment) {
    for (const std::size_t width : {1u, 2u, 4u, 8u})
        for (const std::size_t count : {0u, 1u, 3u, 16u, 17u, 1000u})
            for (const std::size_t shift : {0u, 1u, 3u, 5u}) {
                std::vector<std::byte> from(shift + count * width);
                for (std::size_t i = 0; i < from.size(); ++i)
                    from[i] = static_cast<std::byte>(i * 31 + 7);
                std::vector<std::byte> to(shift + count * width + 1, std::byte{0xee});
                copy_swapped(to.data() + shift, from.data() + shift, count, width);
                for (std::size_t i = 0; i < count; ++i)
                    for (std::size_t b = 0; b < width; ++b)
                        ASSERT_EQ(to[shift + i * width + b], from[shift + i * width + width - 1 - b])
                            << width << " bytes, " << count << " values, shift " << shift << ", value " << i;
                EXPECT_EQ(to.back(), std::byte{0xee}) << "written beyond";
            }
}

TEST(Load, ReadsBothOrders) {
    const byte_string bytes{0xff, 0x12, 0x34, 0x56, 0x78};
    const std::byte* const at = bytes_view(bytes).data() + 1;
    EXPECT_EQ(load<std::uint32_t>(at, std::endian::big), 0x12345678u);
    EXPECT_EQ(load<std::uint32_t>(at, std::endian::little), 0x78563412u);
    EXPECT_EQ(load<std::uint8_t>(at, std::endian::big), 0x12u);
}

} // namespace
} // namespace rivulet::wire
