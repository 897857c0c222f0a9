#include <transport/service_link.hpp>

#include <gtest/gtest.h>

namespace rivulet::transport {
namespace {

std::string address_for(std::string_view data) {
    return service_address_for(parse_endpoint(data, endpoint_use::listen)).to_string();
}

std::vector<std::string> reachable(const std::vector<std::string>& service, std::string_view data, bool names = false) {
    std::vector<std::string> result;
    for (const endpoint& where : reachable_services(service, data, names))
        result.push_back(where.to_string());
    return result;
}

using list = std::vector<std::string>;

TEST(ServiceAddress, OpensNoMoreToTheNetworkThanTheDataIs) {
    EXPECT_EQ(address_for("zmq+tcp://127.0.0.1:5000"), "zmq+tcp://127.0.0.1:*");
    EXPECT_EQ(address_for("posix+tcp://[::1]:5000"), "posix+tcp://[::1]:*");
    EXPECT_EQ(address_for("zmq+tcp://*:5000"), "zmq+tcp://*:*");
    EXPECT_EQ(address_for("zmq+tcp://0.0.0.0:5000"), "zmq+tcp://*:*");
}

TEST(ServiceAddress, LiesBesideASocketOfData) {
    EXPECT_EQ(address_for("posix+unix:///run/lab/eeg"), "posix+unix:///run/lab/");
    EXPECT_EQ(address_for("zmq+ipc:///eeg"), "zmq+ipc:///");
    EXPECT_EQ(address_for("zmq+ipc://*"), "zmq+ipc://*");
}

TEST(ReachableServices, AWildcardIsTheHostThatDataWasReachedOn) {
    EXPECT_EQ(reachable({"zmq+tcp://*:7"}, "zmq+tcp://10.1.2.3:5000"), (list{"zmq+tcp://10.1.2.3:7"}));
    EXPECT_EQ(reachable({"zmq+tcp://*:7"}, "zmq+tcp://[fe80::1%eth0]:5000"), (list{"zmq+tcp://[fe80::1%eth0]:7"}));
    EXPECT_EQ(reachable({"zmq+tcp://10.9.9.9:7"}, "zmq+tcp://10.1.2.3:5000"), (list{"zmq+tcp://10.9.9.9:7"}));
    EXPECT_EQ(reachable({"posix+tcp://*:7"}, "posix+unix:///run/x"), (list{"posix+tcp://127.0.0.1:7"}));
}

TEST(ReachableServices, TheSameSchemeComesFirst) {
    EXPECT_EQ(reachable({"posix+unix:///a", "zmq+tcp://*:7", "posix+tcp://*:8"}, "posix+tcp://10.1.2.3:5000"),
              (list{"posix+tcp://10.1.2.3:8", "zmq+tcp://10.1.2.3:7", "posix+unix:///a"}));
}

TEST(ReachableServices, NamesAreLookedUpOnlyWhenThereIsTime) {
    EXPECT_EQ(reachable({"zmq+tcp://*:7"}, "zmq+tcp://localhost:5000"), list{});
    const list found = reachable({"zmq+tcp://*:7"}, "zmq+tcp://localhost:5000", true);
    EXPECT_EQ(std::count(found.begin(), found.end(), "zmq+tcp://127.0.0.1:7"), 1);
}

TEST(ReachableServices, TheHostOfDataCanBeLookedUpBefore) {
    const list found = numeric_forms("zmq+tcp://localhost:5000");
    EXPECT_EQ(std::count(found.begin(), found.end(), "zmq+tcp://127.0.0.1:5000"), 1);
    EXPECT_EQ(numeric_forms("zmq+tcp://10.1.2.3:5000"), (list{"zmq+tcp://10.1.2.3:5000"}));
    EXPECT_EQ(numeric_forms("posix+unix:///a"), (list{"posix+unix:///a"}));
    EXPECT_EQ(numeric_forms("inproc://a"), (list{"inproc://a"}));
}

TEST(ReachableServices, WhatMakesNoSenseIsLeftOut) {
    EXPECT_EQ(reachable({"", "x", "ftp://a:1", "zmq+tcp://*:*", "posix+unix://*", "zmq+tcp://10.1.2.3:7"},
                        "zmq+tcp://10.1.2.3:5000"),
              (list{"zmq+tcp://10.1.2.3:7"}));
    EXPECT_EQ(reachable({"zmq+tcp://*:7"}, "nonsense"), list{});
    EXPECT_LE(reachable(list(100, "zmq+tcp://*:7"), "zmq+tcp://10.1.2.3:5000").size(), 8u);
}

} // namespace
} // namespace rivulet::transport
