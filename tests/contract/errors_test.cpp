// Whatever is wrong is refused with a message that says what, where, and what to do, and leaves everything else intact.
#include "contract.hpp"

#include <fstream>
#include <set>
#include <sys/un.h>

namespace rivulet::contract {
namespace {

class Errors : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Errors, ::testing::ValuesIn(links::all), links::name_of);

TEST_P(Errors, AnEndpointInUseIsRefusedAndItsOwnerUnharmed) {
    outlet owner = serve_at(GetParam().fixed(), counter());
    const std::string endpoint = owner.endpoints().front();
    inlet before = connect(owner);
    const std::string message = refusal(errc::address_in_use, [&] { serve_at(endpoint, counter()); });
    EXPECT_TRUE(mentions(message, endpoint)) << message;
    refusal(errc::address_in_use, [&] { serve_at(endpoint, counter(), sync_mode()); });
    inlet after = connect(owner);
    EXPECT_EQ(owner.consumer_count(), 2u);
    owner.push_chunk(counting(0, 100));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(before, 100), 0, 100));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(after, 100), 0, 100));
}

TEST_P(Errors, AnOutletThatCannotHaveAllItsEndpointsKeepsNone) {
    outlet owner = serve_at(GetParam().fixed(), counter());
    const std::string free = GetParam().fixed();
    outlet_options options;
    options.endpoints = {free, owner.endpoints().front()};
    refusal(errc::address_in_use, [&] { outlet out(counter(), options); });
    outlet out = serve_at(free, counter());
    inlet in = connect(out);
    out.push_chunk(counting(0, 10));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 10), 0, 10));
}

TEST_P(Errors, EachWrongFieldHasItsOwnMessage) {
    const auto refuse = [](stream_info info, std::initializer_list<std::string_view> parts) {
        const std::string message = refusal(errc::invalid_argument, [&] { serve(info); });
        for (const std::string_view part : parts)
            EXPECT_TRUE(mentions(message, part)) << message;
        return message;
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinite = std::numeric_limits<double>::infinity();
    std::vector<std::string> messages{
        refuse(numbers(channel_format::float32, 0), {"channel_count", "0"}),
        refuse(numbers(channel_format::float32, std::uint64_t{1} << 40), {"channel_count", "1099511627776"}),
        refuse(numbers(channel_format::float32, everything), {"channel_count", "18446744073709551615"}),
        refuse(numbers(channel_format::float32, 1, nan), {"nominal_rate_hz"}),
        refuse(numbers(channel_format::float32, 1, infinite), {"nominal_rate_hz"}),
        refuse(numbers(channel_format::float32, 1, -1.0), {"nominal_rate_hz", "-1"}),
        refuse(numbers(channel_format::blob, 2), {"channel_count", "blob"}),
        refuse({.name = ""}, {"name"}),
        refuse({.name = std::string(1000, 'n')}, {"name"}),
        refuse({.name = "tab\there"}, {"name"}),
        refuse({.name = "x", .format = static_cast<channel_format>(99)}, {"format", "99"}),
    };
    EXPECT_EQ(std::set<std::string>(messages.begin(), messages.end()).size(), messages.size());
}

TEST_P(Errors, WhatIsNotConnectedNamesTheEndpointAndTheWait) {
    const std::string endpoint = GetParam().fixed();
    const std::string message = refusal(errc::not_connected, [&] { inlet in(endpoint, {.open_timeout = 30ms}); });
    EXPECT_TRUE(mentions(message, endpoint)) << message;
    EXPECT_TRUE(mentions(message, "0.03") || mentions(message, "30")) << message;
}

// ---- endpoint strings: independent of any link type

bool is_refused_endpoint(const error& e) {
    return e.code() == make_error_code(errc::bad_endpoint) || e.code() == make_error_code(errc::not_supported);
}

TEST(EndpointErrors, MalformedOnesAreRefusedAndNamedByBothSides) {
    for (const std::string endpoint : {"",
                                       "nonsense",
                                       "127.0.0.1:5000",
                                       "zmq+tcp",
                                       "zmq+tcp:",
                                       "zmq+tcp://",
                                       "zmq+tcp://127.0.0.1",
                                       "zmq+tcp://127.0.0.1:",
                                       "zmq+tcp://127.0.0.1:notaport",
                                       "zmq+tcp://127.0.0.1:65536",
                                       "zmq+tcp://127.0.0.1:-1",
                                       "zmq+tcp://:5000",
                                       "zmq+tcp://::1:5000",
                                       "zmq+tcp://[::1:5000",
                                       "zmq+tcp://127.0.0.1:5000/path",
                                       "zmq+tcp://127.0.0.1:50 00",
                                       "inproc://",
                                       "zmq+ipc://relative/path",
                                       "carrier+pigeon://home",
                                       "ZMQ+TCP//127.0.0.1:5000"}) {
        SCOPED_TRACE("endpoint \"" + endpoint + "\"");
        const auto expect_refusal = [&](const std::function<void()>& action) {
            try {
                action();
                ADD_FAILURE() << "accepted";
            } catch (const error& e) {
                EXPECT_TRUE(is_refused_endpoint(e)) << e.code() << ": " << e.what();
                EXPECT_TRUE(mentions(e.what(), endpoint)) << e.what();
            }
        };
        expect_refusal([&] { serve_at(endpoint, counter()); });
        expect_refusal(
            [&] { inlet in(endpoint, {.open_timeout = patience}); }); // at once: bad syntax is not waited for
    }
}

TEST(EndpointErrors, WildcardsAreForListening) {
    for (const std::string endpoint : {"zmq+tcp://*:5000", "zmq+tcp://127.0.0.1:*", "zmq+tcp://*:*"}) {
        const std::string message =
            refusal(errc::bad_endpoint, [&] { inlet in(endpoint, {.open_timeout = patience}); });
        EXPECT_TRUE(mentions(message, endpoint)) << message;
    }
}

TEST(EndpointErrors, APathTooLongIsRefusedWithItsLimit) {
    const std::string endpoint = "zmq+ipc:///tmp/" + std::string(200, 'p');
    const std::string message = refusal(errc::path_too_long, [&] { serve_at(endpoint, counter()); });
    EXPECT_TRUE(mentions(message, endpoint.substr(0, 50)) && mentions(message, "107")) << message;
    refusal(errc::path_too_long, [&] { inlet in(endpoint, {.open_timeout = patience}); });
}

TEST(EndpointErrors, AFolderThatDoesNotExistIsNamed) {
    const std::string endpoint = "zmq+ipc://" + (links::scratch_folder::path() / "no" / "such" / "folder").string();
    try {
        serve_at(endpoint, counter());
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        EXPECT_TRUE(mentions(e.what(), "no/such")) << e.what();
    }
}

TEST(EndpointErrors, AnAddressThatIsNotOursIsNamed) {
    try {
        serve_at("zmq+tcp://203.0.113.77:5000", counter());
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        EXPECT_TRUE(mentions(e.what(), "203.0.113.77")) << e.what();
    }
}

TEST(EndpointErrors, AFileThatIsNoSocketIsNotRemoved) {
    const auto path = links::scratch_folder::path() / "precious";
    { std::ofstream(path) << "data"; }
    EXPECT_THROW(serve_at("zmq+ipc://" + path.string(), counter()), error);
    EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(EndpointErrors, APathLeftByADeadProcessIsUsedAgain) {
    const auto path = links::scratch_folder::path() / "stale";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ::close(dead);
    ASSERT_TRUE(std::filesystem::exists(path));
    outlet out = serve_at("zmq+ipc://" + path.string(), counter());
    inlet in = connect(out);
    out.push_sample(std::int64_t{0});
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), 0, 1));
}

TEST(EndpointErrors, EndpointsAreReportedAsTheyAreConnectedTo) {
    outlet_options options;
    options.endpoints = {"zmq+tcp://*:*", "zmq+tcp://127.0.0.1:*", "inproc://endpoint-errors"};
    outlet out(counter(), options);
    const auto endpoints = out.endpoints();
    ASSERT_EQ(endpoints.size(), 3u);
    EXPECT_EQ(endpoints[2], "inproc://endpoint-errors");
    for (const std::string& endpoint : endpoints) {
        EXPECT_FALSE(mentions(endpoint, "*")) << endpoint;
        inlet in(endpoint, {.open_timeout = patience});
        out.push_sample(std::int64_t{0});
        EXPECT_EQ(pull<std::int64_t>(in, 1).samples, 1u);
    }
}

TEST(EndpointErrors, IPv6InBrackets) {
    const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    const bool available = probe >= 0 && ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    if (probe >= 0)
        ::close(probe);
    if (!available)
        GTEST_SKIP() << "this host has no IPv6 loopback";
    outlet out = serve_at("zmq+tcp://[::1]:*", counter());
    EXPECT_TRUE(mentions(out.endpoints().front(), "[::1]:")) << out.endpoints().front();
    inlet in = connect(out);
    out.push_sample(std::int64_t{0});
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), 0, 1));
}

} // namespace
} // namespace rivulet::contract
