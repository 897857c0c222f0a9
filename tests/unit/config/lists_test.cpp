// Values that are lists, switches and multicast groups, as [discovery] has them.
#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

#include <gtest/gtest.h>

namespace rivulet {
namespace {

using strings = std::vector<std::string>;

std::string refusal(const std::string& text, const environment& env = {}) {
    try {
        if (env.empty())
            parse_config(text, "x");
        else
            load_config(std::nullopt, env);
    } catch (const error& e) {
        return e.what();
    }
    return "";
}

TEST(Lists, AreReadFromArraysAndFromVariables) {
    const config c = parse_config("[discovery]\nknown_peers = ['lab-pc', '10.0.0.1:5000']\nenabled = false\n", "x");
    EXPECT_EQ(c.discovery.known_peers, (strings{"lab-pc", "10.0.0.1:5000"}));
    EXPECT_FALSE(c.discovery.enabled);
    const config v = load_config(std::nullopt, {{"RIVULET_DISCOVERY_KNOWN_PEERS", "lab-pc, [::1]:5 ,x"},
                                                {"RIVULET_PORTS_ADVERTISE", "outside.example.org"},
                                                {"RIVULET_DISCOVERY_BROADCAST", "0"}});
    EXPECT_EQ(v.discovery.known_peers, (strings{"lab-pc", "[::1]:5", "x"}));
    EXPECT_EQ(v.ports.advertise, strings{"outside.example.org"});
    EXPECT_FALSE(v.discovery.broadcast);
}

TEST(Lists, WhatIsNoListOrNoHostIsNamed) {
    EXPECT_NE(refusal("discovery.known_peers = 'a'").find("is text, not an array of texts"), std::string::npos);
    EXPECT_NE(refusal("discovery.known_peers = [1]").find("is an array"), std::string::npos);
    EXPECT_NE(refusal("discovery.known_peers = ['a:b']").find("\"a:b\" is no host; allowed: \"host\""),
              std::string::npos);
    EXPECT_NE(refusal("ports.advertise = ['a:5']").find("without a port"), std::string::npos);
    EXPECT_NE(refusal("discovery.known_peers = ['']").find("allowed: an array of at most 64"), std::string::npos);
    EXPECT_NE(refusal("", {{"RIVULET_DISCOVERY_KNOWN_PEERS", "a,,b"}}).find("RIVULET_DISCOVERY_KNOWN_PEERS"),
              std::string::npos);
}

TEST(Switches, TakeTruthValuesOnly) {
    EXPECT_NE(refusal("discovery.enabled = 1").find("is a whole number, not a truth value; allowed: true, false"),
              std::string::npos);
    EXPECT_NE(refusal("", {{"RIVULET_DISCOVERY_ENABLED", "perhaps"}}).find("allowed: true, false"), std::string::npos);
}

TEST(Groups, AreMulticastAddressesOfTheirFamily) {
    EXPECT_EQ(refusal("discovery.group = '224.0.0.251'"), "");
    EXPECT_EQ(refusal("discovery.group6 = 'ff02::1'"), "");
    for (const char* wrong : {"'10.0.0.1'", "'ff02::1'", "'240.0.0.1'", "'lab'", "''"})
        EXPECT_NE(refusal("discovery.group = " + std::string(wrong)).find("is no such address"), std::string::npos);
    for (const char* wrong : {"'239.0.0.1'", "'fe80::1'", "''"})
        EXPECT_NE(refusal("discovery.group6 = " + std::string(wrong)).find("is no such address"), std::string::npos);
}

} // namespace
} // namespace rivulet
