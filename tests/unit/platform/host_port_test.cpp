#include <platform/host_port.hpp>

#include <gtest/gtest.h>

namespace rivulet::platform {
namespace {

void expect(const char* text, const char* host, std::uint16_t port) {
    const auto parsed = parse_host_port(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
}

TEST(HostPort, HostsWithAndWithoutAPort) {
    expect("lab-pc", "lab-pc", 0);
    expect("lab-pc.example.org:5000", "lab-pc.example.org", 5000);
    expect("10.0.0.1", "10.0.0.1", 0);
    expect("10.0.0.1:65535", "10.0.0.1", 65535);
    expect("fe80::1", "fe80::1", 0);
    expect("[fe80::1]", "fe80::1", 0);
    expect("[fe80::1%eth0.5]:1", "fe80::1%eth0.5", 1);
    expect("stream_pub", "stream_pub", 0);
}

TEST(HostPort, AnythingElseIsRefused) {
    for (const char* text : {"", ":", ":5000", "a:", "a:0", "a:65536", "a:b", "a:1x", "a b", "a..b", ".a", "[::1",
                             "[x]:1", "::1%", "[::1]x", "a:1:2", "http://a", "a/b"})
        EXPECT_FALSE(parse_host_port(text)) << text;
}

} // namespace
} // namespace rivulet::platform
