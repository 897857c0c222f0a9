// Whoever can reach a TCP port may send anything to it: no consumer notices, and nothing of it counts.
#include "counter_stream.hpp"
#include "links.hpp"
#include "raw_client.hpp"

#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::push_and_pull;
using support::random_bytes;
using support::raw_client;
using support::serve_counter;
using waiting::eventually;
using waiting::patience;

class Garbage : public ::testing::TestWithParam<links::link> {
protected:
    /// While `attack` goes on and after it, a consumer loses nothing, another can join, and only they are counted.
    template<class Attack>
    void attack(Attack attack) {
        for (const delivery mode : {delivery::async, delivery::sync}) {
            outlet out = serve_counter(GetParam().any(), {.mode = mode, .send_timeout = patience});
            inlet healthy(out.endpoints().front());
            std::uint64_t pushed = 0;
            for (unsigned round = 0; round < 10; ++round) {
                attack(out, round);
                ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy}));
                inlet late(out.endpoints().front());
                ASSERT_NO_FATAL_FAILURE(push_and_pull(out, pushed, {&healthy, &late}, 10));
            }
            EXPECT_TRUE(eventually([&] { return out.consumer_count() == 1; })) << out.consumer_count();
            EXPECT_EQ(healthy.stats().ignored, 0u);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Over, Garbage, ::testing::ValuesIn(links::tcp), links::name_of);

TEST_P(Garbage, RandomBytes) {
    attack([](const outlet& out, unsigned round) { raw_client(out).send(random_bytes(100'000, round)); });
}

TEST_P(Garbage, AWebBrowser) {
    attack([](const outlet& out, unsigned) { raw_client(out).send("GET / HTTP/1.1\r\nHost: rivulet\r\n\r\n"); });
}

TEST_P(Garbage, ConnectionsThatCloseOrResetAtOnce) {
    attack([](const outlet& out, unsigned) {
        for (int i = 0; i < 20; ++i) {
            const raw_client client(out);
            if (i % 2)
                client.reset_on_close();
        }
    });
}

TEST_P(Garbage, HugeLengths) {
    attack([](const outlet& out, unsigned round) {
        for (const char first : {'\xFF', '\x7F', '\x00', '\x02', '\x95', '\xC1'})
            raw_client(out).send(first + std::string(7 + round, '\xFF'));
    });
}

TEST_P(Garbage, SilentConnections) {
    std::vector<std::unique_ptr<raw_client>> silent;
    attack([&](const outlet& out, unsigned) {
        for (int i = 0; i < 5; ++i)
            silent.push_back(std::make_unique<raw_client>(out));
    });
}

TEST_P(Garbage, AByteAtATime) {
    std::vector<std::unique_ptr<raw_client>> slow;
    attack([&](const outlet& out, unsigned round) {
        slow.push_back(std::make_unique<raw_client>(out));
        for (const auto& client : slow)
            client->send(std::string(1, static_cast<char>(round)));
    });
}

// ---- clients that speak ZeroMQ, but no sense

/// Greets as a SUB socket with the NULL mechanism and waits for the answer.
void greet(const raw_client& client) {
    std::string greeting(64, '\0');
    greeting[0] = '\xFF';
    greeting[9] = '\x7F';
    greeting[10] = 3;
    greeting.replace(12, 4, "NULL");
    client.send(greeting);
    client.receive(64);
    client.send(std::string("\x04\x19\x05READY\x0BSocket-Type\x00\x00\x00\x03SUB", 27));
}
std::string frame(std::string_view body) {
    return std::string(1, '\0') + static_cast<char>(body.size()) + std::string(body);
}
std::string subscribe(std::string_view topic) { return frame('\1' + std::string(topic)); }

class ZmqGarbage : public Garbage {};
INSTANTIATE_TEST_SUITE_P(Over, ZmqGarbage, ::testing::Values(links::zmq_tcp), links::name_of);

TEST_P(ZmqGarbage, GreetingThenRandomBytes) {
    attack([](const outlet& out, unsigned round) {
        const raw_client client(out);
        greet(client);
        client.send(random_bytes(50'000, round));
    });
}

TEST_P(ZmqGarbage, HalfAGreeting) {
    std::vector<std::unique_ptr<raw_client>> silent;
    attack([&](const outlet& out, unsigned round) {
        silent.push_back(std::make_unique<raw_client>(out));
        silent.back()->send(std::string("\xFF\0\0\0\0\0\0\0\0\x7F", 10).substr(0, 1 + round));
    });
}

TEST_P(ZmqGarbage, MessagesOfImpossibleLength) {
    attack([](const outlet& out, unsigned) {
        const raw_client client(out);
        greet(client);
        client.send(std::string("\x02\x3F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9));
        client.send(std::string(1000, 'x'));
    });
}

TEST_P(ZmqGarbage, SubscriptionsWithoutSense) {
    attack([](const outlet& out, unsigned round) {
        const raw_client client(out);
        greet(client);
        client.send(frame("") + frame("\1") + frame("\0") + frame("no subscription"));
        for (const char first : {'\xC0', '\xC1', '\x95', '\x00', '\xFF'})
            for (std::size_t length = 0; length < 40; ++length)
                client.send(subscribe(first + random_bytes(length, round)));
        client.send(frame(std::string_view("\0\xC1never subscribed", 18)));
    });
}

TEST_P(ZmqGarbage, AFloodOfSubscriptions) {
    attack([](const outlet& out, unsigned round) {
        const raw_client client(out);
        greet(client);
        std::string flood;
        for (unsigned i = 0; i < 5000; ++i)
            flood += subscribe('\x95' + std::to_string(round) + "-" + std::to_string(i));
        client.send(flood);
    });
}

TEST_P(ZmqGarbage, TokensWithHellosThatAreNone) {
    std::vector<std::unique_ptr<raw_client>> staying;
    attack([&](const outlet& out, unsigned round) {
        staying.push_back(std::make_unique<raw_client>(out));
        greet(*staying.back());
        staying.back()->send(subscribe("\xC0" + random_bytes(16, round) + random_bytes(60, round + 100)));
        staying.back()->send(subscribe("\xC1short"));
        staying.back()->send(subscribe("\xC1" + random_bytes(100, round)));
    });
}

} // namespace
} // namespace rivulet
