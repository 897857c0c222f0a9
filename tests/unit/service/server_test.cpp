#include <service/replay.hpp>
#include <service/server.hpp>
#include <transport/io_context.hpp>
#include <wire/service_frame.hpp>

#include <gtest/gtest.h>
#include <map>

namespace rivulet::service {
namespace {

/// Keeps what it is told to reply.
class fake_link final : public transport::service_listener {
public:
    const std::string& endpoint() const noexcept override { return endpoint_; }
    void reply(transport::asker to, std::vector<std::byte> frame) override { replies[to].push_back(std::move(frame)); }
    void close() override {}

    std::map<transport::asker, std::vector<std::vector<std::byte>>> replies;

private:
    std::string endpoint_ = "fake";
};

class fake_target final : public target {
public:
    std::shared_ptr<const std::vector<std::byte>> info_frame() override {
        return std::make_shared<const std::vector<std::byte>>(5, std::byte{7});
    }
    outlet_stats stats() const override {
        outlet_stats s;
        s.pushed = 77;
        return s;
    }
    history kept() const override { return past; }
    std::function<void()> on_control(control_call call) override {
        calls.push_back(std::move(call));
        return {};
    }

    history past;
    std::vector<control_call> calls;
};

class Server : public ::testing::Test {
protected:
    /// Sends the request and returns the answer to it.
    wire::service_reply ask(wire::service_request request, transport::asker from = 1) {
        request.id = next_id_++;
        frame_ = wire::encode_request(request);
        answers.on_request(*link, from, frame_);
        return last(from);
    }
    wire::service_reply last(transport::asker from) {
        wire::service_reply reply;
        EXPECT_FALSE(link->replies[from].empty());
        if (!link->replies[from].empty()) {
            EXPECT_EQ(wire::decode_reply(link->replies[from].back(), SIZE_MAX, reply), wire::frame_error::none);
        }
        return reply;
    }

    transport::io_context io{config{}};
    server answers{io};
    std::shared_ptr<fake_link> link = std::make_shared<fake_link>();
    fake_target who;

private:
    std::uint64_t next_id_ = 100;
    std::vector<std::byte> frame_;
};

TEST_F(Server, RequestsFindTheirTarget) {
    fake_target other;
    answers.add("one", who);
    answers.add("two", other);
    auto reply = ask({.op = wire::service_op::stats, .uid = "one"});
    EXPECT_EQ(reply.id, 100u);
    EXPECT_EQ(reply.stats.pushed, 77u);
    EXPECT_EQ(ask({.op = wire::service_op::info, .uid = "two"}).info.size(), 5u);
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "three"}).status, wire::reply_status::unknown_stream);
    answers.remove(who);
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "one"}).status, wire::reply_status::unknown_stream);
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "two"}).status, wire::reply_status::ok);
}

TEST_F(Server, EarlierUidsCountUntilTheyAreForgotten) {
    answers.add("one", who);
    answers.add("one b", who);
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "one"}).status, wire::reply_status::ok);
    answers.forget("one");
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "one"}).status, wire::reply_status::unknown_stream);
    EXPECT_EQ(ask({.op = wire::service_op::stats, .uid = "one b"}).status, wire::reply_status::ok);
}

TEST_F(Server, TimesAreOursAndTheAskersComesBack) {
    answers.add("one", who);
    const double before = local_clock();
    const auto reply = ask({.op = wire::service_op::time, .uid = "one", .t1 = -3.5});
    EXPECT_EQ(reply.t1, -3.5);
    EXPECT_LE(before, reply.t2);
    EXPECT_LE(reply.t2, reply.t3);
    EXPECT_LE(reply.t3, local_clock());
    EXPECT_NEAR(static_cast<double>(reply.unix_ns - local_to_unix_ns(reply.t3)), 0.0, 1e9);
}

TEST_F(Server, GarbageIsNotAnsweredAndWhatHasAnIdIsRefused) {
    const auto say = [&](std::vector<std::byte> frame) { answers.on_request(*link, 1, frame); };
    say({});
    say(std::vector<std::byte>(100, std::byte{0xFF}));
    EXPECT_TRUE(link->replies.empty());
    const auto bytes = [](std::initializer_list<int> list) {
        std::vector<std::byte> frame;
        for (const int b : list)
            frame.push_back(static_cast<std::byte>(b));
        return frame;
    };
    say(bytes({0x95, 4, 9, 0xa1, 'x', 0x80, 0xc0}));
    EXPECT_EQ(last(1).status, wire::reply_status::unknown_op);
    EXPECT_EQ(last(1).id, 9u);
    say(bytes({0x95, 4, 9, 0xa4, 'i', 'n', 'f', 'o', 0x80, 0xc0}));
    EXPECT_EQ(last(1).status, wire::reply_status::malformed);
}

TEST_F(Server, ControlMessagesAreAnsweredLaterAndToTheirAsker) {
    answers.add("one", who);
    for (const transport::asker from : {5u, 6u}) {
        const auto frame =
            wire::encode_request({.id = from, .op = wire::service_op::control, .uid = "one", .name = "n"});
        answers.on_request(*link, from, frame);
    }
    EXPECT_TRUE(link->replies.empty());
    ASSERT_EQ(who.calls.size(), 2u);
    who.calls[1].done({.data = {std::byte{1}}});
    EXPECT_EQ(last(6).data.size(), 1u);
    EXPECT_EQ(link->replies.count(5), 0u);
    who.calls[0].refuse(control_status::busy, "too many");
    EXPECT_EQ(last(5).status, wire::reply_status::busy);
    EXPECT_EQ(last(5).text, "too many");
    who.calls[0].done({.data = std::vector<std::byte>(max_control_bytes + 1)});
    EXPECT_EQ(last(5).status, wire::reply_status::failed);
}

// --- replay ---------------------------------------------------------------------------------------------------------

class Replay : public Server {
protected:
    /// A log of int64 counters that keeps about `bytes`, with `count` of them pushed.
    void fill(std::uint64_t count, std::size_t bytes) {
        who.past.log = std::make_shared<samples::sample_log>(
            samples::log_options{.format = channel_format::int64, .channels = 1, .rate_hz = 0, .bytes = bytes});
        who.past.uid = "one";
        answers.add("one", who);
        push(count);
    }
    void push(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto room = who.past.log->reserve(samples::sample_log::overflow::drop_oldest);
            const std::uint64_t value = who.past.log->head();
            std::memcpy(room.samples, &value, sizeof value);
            *room.stamps = static_cast<double>(value);
            who.past.log->commit(1);
        }
    }
    /// Asks as often as needed; checks that all follow each other and carry their positions.
    std::uint64_t fetch(std::uint64_t from, std::uint64_t to, std::uint64_t& first) {
        first = UINT64_MAX;
        std::uint64_t got = 0;
        while (from < to) {
            const auto reply = ask({.op = wire::service_op::replay, .uid = "one", .from = from, .to = to});
            EXPECT_EQ(reply.status, wire::reply_status::ok);
            if (reply.frames.empty())
                break;
            first = std::min(first, reply.from);
            std::uint64_t next = reply.from;
            for (const wire::bytes_view frame : reply.frames) {
                wire::data_parser parser;
                wire::data_view data;
                EXPECT_EQ(parser.parse(frame, {}, data), wire::frame_error::none);
                EXPECT_EQ(data.first_sequence, next);
                for (std::uint32_t i = 0; i < data.count; ++i) {
                    std::uint64_t value = 0;
                    std::memcpy(&value, data.payload.data() + i * sizeof value, sizeof value);
                    EXPECT_EQ(value, next++ + who.past.base);
                    ++got;
                }
            }
            EXPECT_EQ(reply.next, next);
            from = reply.next;
        }
        return got;
    }
};

TEST_F(Replay, GivesWhatIsAskedFor) {
    fill(1000, 1u << 20);
    std::uint64_t first = 0;
    EXPECT_EQ(fetch(10, 20, first), 10u);
    EXPECT_EQ(first, 10u);
    EXPECT_EQ(fetch(0, 1000, first), 1000u);
    EXPECT_EQ(fetch(990, 5000, first), 10u) << "no more than there is";
    EXPECT_EQ(fetch(5000, 6000, first), 0u);
    EXPECT_EQ(fetch(UINT64_MAX - 1, UINT64_MAX, first), 0u);
    EXPECT_EQ(ask({.op = wire::service_op::replay, .uid = "one", .from = 3, .to = 3}).frames.size(), 0u);
}

TEST_F(Replay, ManySamplesTakeSeveralBoundedReplies) {
    fill(500'000, 64u << 20);
    std::uint64_t first = 0;
    EXPECT_EQ(fetch(0, 500'000, first), 500'000u);
    EXPECT_GE(link->replies[1].size(), 4u);
    for (const auto& reply : link->replies[1])
        EXPECT_LE(reply.size(), (1u << 20) + 4096);
}

TEST_F(Replay, BeginsLaterWhereThatIsKeptNoLonger) {
    fill(100'000, 256u << 10);
    std::uint64_t first = 0;
    const std::uint64_t oldest = who.past.log->oldest();
    ASSERT_GT(oldest, 0u);
    EXPECT_EQ(fetch(0, 100'000, first), 100'000 - oldest);
    EXPECT_EQ(first, oldest);
}

TEST_F(Replay, CountsFromItsSegment) {
    fill(1000, 1u << 20);
    who.past.base = who.past.begin = 400;
    std::uint64_t first = 0;
    EXPECT_EQ(fetch(0, 10'000, first), 600u);
    EXPECT_EQ(first, 0u);
}

TEST_F(Replay, ASegmentThatIsOverAndSyncDeliveryHaveNone) {
    fill(10, 1u << 20);
    answers.add("before", who);
    EXPECT_EQ(ask({.op = wire::service_op::replay, .uid = "before", .from = 0, .to = 5}).status,
              wire::reply_status::unavailable);
    who.past.log = nullptr;
    EXPECT_EQ(ask({.op = wire::service_op::replay, .uid = "one", .from = 0, .to = 5}).status,
              wire::reply_status::unavailable);
}

} // namespace
} // namespace rivulet::service
