#include <service/client.hpp>
#include <transport/io_context.hpp>
#include <waiting.hpp>

#include <future>
#include <gtest/gtest.h>

namespace rivulet::service {
namespace {

using namespace std::chrono_literals;
using platform::clock;
using platform::time_point;

/// A service that answers when it is told to, over the backend within the process.
class Client : public ::testing::Test, public transport::request_sink {
protected:
    void SetUp() override {
        listener = transport::open_service_listener(
            {.scheme = "inproc", .kind = transport::endpoint::family::name, .host = {}, .port = 0, .path = {}}, io,
            *this);
        asking = pool.get({transport::parse_endpoint(listener->endpoint(), transport::endpoint_use::connect)});
    }
    void TearDown() override {
        asking.reset();
        listener->close();
    }
    void on_request(transport::service_listener& link, transport::asker from, wire::bytes_view frame) override {
        wire::service_request request;
        ASSERT_EQ(wire::decode_request(frame, request), wire::request_error::none);
        ++received;
        if (answers)
            link.reply(from, wire::encode_control_reply(request.id, request.data));
    }
    /// A call; the future says how it ended.
    std::future<outcome> call(time_point deadline = time_point::max(), const void* owner = nullptr) {
        auto ended = std::make_shared<std::promise<outcome>>();
        wire::service_request request;
        request.op = wire::service_op::control;
        request.uid = "one";
        asking->call(owner ? owner : this, std::move(request), deadline,
                     [ended](outcome how, const wire::service_reply*, double) { ended->set_value(how); });
        return ended->get_future();
    }

    transport::io_context io{config{}};
    client_pool pool{io};
    std::shared_ptr<transport::service_listener> listener;
    std::shared_ptr<client> asking;
    std::atomic<int> received{0};
    std::atomic<bool> answers{true};
};

TEST_F(Client, EveryCallEndsOnce) {
    std::vector<std::future<outcome>> all;
    for (int i = 0; i < 100; ++i)
        all.push_back(call());
    for (auto& one : all)
        EXPECT_EQ(one.get(), outcome::replied);
    EXPECT_EQ(received, 100);
}

TEST_F(Client, OneServerHasOneClient) { EXPECT_EQ(pool.get(asking->addresses()), asking); }

TEST_F(Client, WithoutAReplyACallEndsAtItsDeadline) {
    answers = false;
    const time_point deadline = clock::now() + 20ms;
    EXPECT_EQ(call(deadline).get(), outcome::timed_out);
    EXPECT_GE(clock::now(), deadline);
}

TEST_F(Client, WhatWasSentIsUnknownWhenTheServerCloses) {
    answers = false;
    auto waiting_call = call();
    ASSERT_TRUE(waiting::eventually([&] { return received == 1; }));
    listener->close();
    EXPECT_EQ(waiting_call.get(), outcome::broken);
    EXPECT_EQ(call().get(), outcome::unreachable) << "and what comes later is never sent";
}

TEST_F(Client, CallsBeyondTheLimitAreNotSent) {
    answers = false;
    std::vector<std::future<outcome>> all;
    for (int i = 0; i < 1024; ++i)
        all.push_back(call());
    EXPECT_EQ(call().get(), outcome::unreachable);
    asking->cancel(this);
    for (auto& one : all)
        EXPECT_EQ(one.get(), outcome::cancelled);
}

TEST_F(Client, OnlyTheOwnersCallsAreCancelled) {
    answers = false;
    const int mine = 0;
    const int other = 0;
    auto a = call(time_point::max(), &mine);
    auto b = call(time_point::max(), &other);
    asking->cancel(&mine);
    EXPECT_EQ(a.get(), outcome::cancelled);
    EXPECT_EQ(b.wait_for(0s), std::future_status::timeout);
    asking->close();
    EXPECT_EQ(b.get(), outcome::cancelled);
    EXPECT_EQ(call().get(), outcome::cancelled) << "after closing";
}

} // namespace
} // namespace rivulet::service
