#include "transport/endpoint.hpp"

#include "platform/text.hpp"

#include <rivulet/error.hpp>

#include <array>
#include <gtest/gtest.h>
#include <random>
#include <sys/un.h>

namespace rivulet::transport {
namespace {

endpoint listen(std::string_view text) { return parse_endpoint(text, endpoint_use::listen); }
endpoint connect(std::string_view text) { return parse_endpoint(text, endpoint_use::connect); }

std::string refusal(std::string_view text, endpoint_use use, errc expected = errc::bad_endpoint) {
    try {
        parse_endpoint(text, use);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), expected) << e.what();
        EXPECT_NE(std::string(e.what()).find(platform::printable(text)), std::string::npos) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "accepted: " << text;
    return "";
}

/// Both uses refuse it, and the message contains `part`.
void expect_refused(std::string_view text, std::string_view part) {
    for (const auto use : {endpoint_use::listen, endpoint_use::connect})
        EXPECT_NE(refusal(text, use).find(part), std::string::npos) << refusal(text, use);
}

TEST(Endpoint, HostsAndPortsAreTakenApart) {
    const endpoint e = connect("zmq+tcp://amp-17.lab_3.example:5000");
    EXPECT_EQ(e.scheme, "zmq+tcp");
    EXPECT_EQ(e.kind, endpoint::family::tcp);
    EXPECT_EQ(e.host, "amp-17.lab_3.example");
    EXPECT_EQ(e.port, 5000);
    EXPECT_FALSE(e.wildcard_host());
    EXPECT_FALSE(e.ipv6_literal());
    EXPECT_EQ(connect("zmq+tcp://192.168.1.17:65535").host, "192.168.1.17");
    EXPECT_EQ(connect("zmq+tcp://localhost.:1").port, 1);
}

TEST(Endpoint, Ipv6StandsInBracketsWithItsScope) {
    EXPECT_EQ(connect("zmq+tcp://[::1]:5000").host, "::1");
    EXPECT_EQ(connect("zmq+tcp://[FE80:0:0::1%eth0]:5000").host, "fe80::1%eth0");
    EXPECT_EQ(connect("zmq+tcp://[fe80::1%3]:5000").host, "fe80::1%3");
    EXPECT_EQ(connect("zmq+tcp://[fe80::1%br-12.4_x]:5000").to_string(), "zmq+tcp://[fe80::1%br-12.4_x]:5000");
    EXPECT_TRUE(listen("zmq+tcp://[0:0:0:0:0:0:0:0]:*").wildcard_host());
    expect_refused("zmq+tcp://::1:5000", "in brackets");
    expect_refused("zmq+tcp://[::1:5000", "] after");
    expect_refused("zmq+tcp://[::1]5000", "must come :");
    expect_refused("zmq+tcp://[]:5000", "no IPv6 address");
    expect_refused("zmq+tcp://[*]:5000", "no IPv6 address");
    expect_refused("zmq+tcp://[127.0.0.1]:5000", "no IPv6 address");
    expect_refused("zmq+tcp://[:::1]:5000", "no IPv6 address");
    expect_refused("zmq+tcp://[fe80::1%]:5000", "no interface");
    expect_refused("zmq+tcp://[fe80::1%eth0%eth1]:5000", "no interface");
    expect_refused("zmq+tcp://[fe80::1%0123456789abcdef]:5000", "no interface");
    expect_refused(std::string_view("zmq+tcp://[::1\0x]:5000", 22), "no IPv6 address");
}

TEST(Endpoint, WildcardsAreForListening) {
    const endpoint e = listen("zmq+tcp://*:*");
    EXPECT_TRUE(e.wildcard_host());
    EXPECT_EQ(e.port, 0);
    EXPECT_EQ(e.to_string(), "zmq+tcp://*:*");
    EXPECT_EQ(listen("zmq+tcp://127.0.0.1:0").port, 0);
    EXPECT_EQ(listen("zmq+ipc://*").path, "");
    EXPECT_EQ(listen("zmq+ipc://*").to_string(), "zmq+ipc://*");
    for (const char* host : {"*", "0.0.0.0", "[::]"})
        EXPECT_NE(refusal("zmq+tcp://" + std::string(host) + ":5000", endpoint_use::connect).find("no host"),
                  std::string::npos);
    for (const char* port : {"*", "0", "000"})
        EXPECT_NE(refusal("zmq+tcp://h:" + std::string(port), endpoint_use::connect).find("no port"),
                  std::string::npos);
    EXPECT_NE(refusal("zmq+ipc://*", endpoint_use::connect).find("no path"), std::string::npos);
}

TEST(Endpoint, BadHostsAreNamed) {
    expect_refused("zmq+tcp://:5000", "host is missing");
    expect_refused("zmq+tcp://", "host is missing");
    expect_refused("zmq+tcp://a b:5000", "no host name");
    expect_refused("zmq+tcp:// h:5000", "no host name");
    expect_refused("zmq+tcp://a..b:5000", "no host name");
    expect_refused("zmq+tcp://.a:5000", "no host name");
    expect_refused("zmq+tcp://user@h:5000", "no host name");
    expect_refused("zmq+tcp:///h:5000", "no host name");
    expect_refused("zmq+tcp://m\u00fcnchen:5000", "no host name");
    expect_refused("zmq+tcp://" + std::string(254, 'a') + ":5000", "no host name");
    expect_refused("zmq+tcp://999.1.1.1:5000", "no IPv4 address");
    expect_refused("zmq+tcp://10.1:5000", "no IPv4 address");
    expect_refused("zmq+tcp://5000", "no IPv4 address");
}

TEST(Endpoint, BadPortsAreNamed) {
    expect_refused("zmq+tcp://h", "port is missing");
    expect_refused("zmq+tcp://h:", "port is missing");
    expect_refused("zmq+tcp://[::1]", "port is missing");
    expect_refused("zmq+tcp://h:http", "\"http\" is no number");
    expect_refused("zmq+tcp://h:-1", "\"-1\" is no number");
    expect_refused("zmq+tcp://h:+1", "\"+1\" is no number");
    expect_refused("zmq+tcp://h: 1", "no number");
    expect_refused("zmq+tcp://h:65536", "out of range; allowed: 1 to 65535");
    expect_refused("zmq+tcp://h:99999999999999999999", "out of range");
    expect_refused("zmq+tcp://h:5000/", "nothing may follow the port, but there is \"/\"");
    expect_refused("zmq+tcp://h:5000 ", "nothing may follow");
    expect_refused("zmq+tcp://h:50x", "\"x\"");
    expect_refused("zmq+tcp://h:**", "no number");
}

TEST(Endpoint, PathsAreAbsoluteAndFitASocketAddress) {
    const endpoint e = connect("zmq+ipc:///run/lab 3/e\u00e4g.sock");
    EXPECT_EQ(e.kind, endpoint::family::path);
    EXPECT_EQ(e.path, "/run/lab 3/e\u00e4g.sock");
    expect_refused("zmq+ipc://", "path is missing");
    expect_refused("zmq+ipc://run/eeg.sock", "relative path");
    expect_refused("zmq+ipc://./eeg.sock", "relative path");
    expect_refused("zmq+ipc://@eeg", "abstract");
    expect_refused("zmq+ipc:///run/", "folder");
    expect_refused("zmq+ipc:///", "folder");
    expect_refused("zmq+ipc:///a\nb", "control characters");
    expect_refused(std::string_view("zmq+ipc:///a\0b", 14), "control characters");

    const std::string longest = "/" + std::string(sizeof(sockaddr_un::sun_path) - 2, 'x');
    EXPECT_EQ(connect("zmq+ipc://" + longest).path, longest);
    const std::string message = refusal("zmq+ipc://" + longest + "y", endpoint_use::listen, errc::path_too_long);
    EXPECT_NE(message.find("has 108 bytes, but sockets take at most 107"), std::string::npos) << message;
}

TEST(Endpoint, NamesOfThisProcess) {
    EXPECT_EQ(connect("inproc://eeg/1:*").path, "eeg/1:*");
    EXPECT_EQ(connect("inproc://eeg").kind, endpoint::family::name);
    expect_refused("inproc://", "name is missing");
    expect_refused("inproc://*", "write a name");
    expect_refused("inproc://a\tb", "control characters");
    expect_refused("inproc://\xff", "no UTF-8");
    expect_refused("inproc://" + std::string(256, 'x'), "256 bytes; allowed: 1 to 255");
}

TEST(Endpoint, UnknownSchemesGetAHint) {
    expect_refused("", "it is empty");
    expect_refused("localhost:5000", "write for example zmq+tcp://localhost:5000");
    expect_refused("tcp://h:5000", "write zmq+tcp://");
    expect_refused("ipc:///run/x", "write zmq+ipc://");
    expect_refused("zmq-tcp://h:5000", "write zmq+tcp://");
    expect_refused("ZMQ+TCP://h:5000", "write zmq+tcp://");
    expect_refused("zqm+tcp://h:5000", "write zmq+tcp://");
    expect_refused("gopher://h:5000",
                   "there are zmq+tcp://, zmq+ipc://, inproc://, posix+tcp://, posix+unix:// and posix+sctp://");
    expect_refused("://h:5000", "unknown scheme");
    expect_refused(" zmq+tcp://h:5000", "write zmq+tcp://");
}

TEST(Endpoint, AZmqOneMaySayWhichKeyItsOutletHas) {
    for (const char* text : {"zmq+tcp://h:5000?key=0123456789abcdef", "zmq+tcp://[::1]:1?key=0123456789abcdef",
                             "zmq+ipc:///run/x?key=0123456789abcdef"}) {
        const endpoint got = parse_endpoint(text, endpoint_use::connect);
        EXPECT_EQ(got.key, "0123456789abcdef");
        EXPECT_EQ(got.to_string(), text);
    }
    EXPECT_EQ(listen("zmq+tcp://*:*?key=0123456789abcdef").port, 0);
    EXPECT_EQ(listen("posix+unix:///run/x?key=0123456789abcdef").path, "/run/x?key=0123456789abcdef");
    for (const char* text :
         {"zmq+tcp://h:5000?key=", "zmq+tcp://h:5000?key=0123", "zmq+tcp://h:5000?key=0123456789ABCDEF",
          "zmq+tcp://h:5000?key=0123456789abcdefa", "zmq+tcp://h?key=0123456789abcdef",
          "zmq+tcp://h:5000?kay=0123456789abcdef", "posix+tcp://h:5000?key=0123456789abcdef"})
        EXPECT_THROW(listen(text), error) << text;
}

TEST(Endpoint, WhatIsWrittenIsReadBack) {
    for (const char* text : {"zmq+tcp://*:*", "zmq+tcp://*:5000", "zmq+tcp://[::]:*", "zmq+tcp://[::1]:1",
                             "zmq+tcp://h:5000", "zmq+ipc:///run/x", "zmq+ipc://*", "inproc://x", "posix+tcp://h:5000",
                             "posix+unix:///run/x", "posix+sctp://h:5000"})
        EXPECT_EQ(listen(text).to_string(), text);
}

TEST(Endpoint, AnyBytesAreEitherReadBackOrRefused) {
    constexpr std::array<std::string_view, 22> pieces{
        "zmq+tcp", "zmq+ipc", "inproc", "posix+tcp", "tcp",  "://", ":",     "/", "[", "]", "%",
        "*",       "::1",     "fe80::", "eth0",      "5000", "0",   "65536", ".", "@", "h", "\n"};
    constexpr std::array<std::string_view, 6> beginnings{
        "", "zmq+tcp://", "zmq+tcp://h:", "zmq+tcp://[", "zmq+ipc:///", "inproc://"};
    std::mt19937 random(17); // the same texts in every run
    std::size_t accepted = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::string text(beginnings[random() % beginnings.size()]);
        for (auto n = random() % 8; n > 0; --n) {
            if (random() % 8 == 0)
                text += static_cast<char>(random());
            else
                text += pieces[random() % pieces.size()];
        }
        const auto use = i % 3 == 0 ? endpoint_use::connect : endpoint_use::listen;
        try {
            const endpoint first = parse_endpoint(text, use);
            EXPECT_EQ(parse_endpoint(first.to_string(), use).to_string(), first.to_string()) << text;
            ++accepted;
        } catch (const error& e) {
            EXPECT_TRUE(platform::is_utf8(e.what()));
            EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos);
        }
    }
    EXPECT_GT(accepted, 1000u);
}

} // namespace
} // namespace rivulet::transport
