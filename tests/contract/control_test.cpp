// Control messages: from a consumer to the producer, with an answer to that consumer alone.
#include "contract.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace rivulet::contract {
namespace {

std::vector<std::byte> bytes(std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}
std::string text(const std::vector<std::byte>& data) {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

control_reply echo(const control_request& q) { return {.data = q.data}; }

constexpr control_thread both_threads[] = {control_thread::own, control_thread::io};

/// Holds a handler up until it is opened.
class gate {
public:
    void open() {
        {
            const std::lock_guard lock(mutex_);
            open_ = true;
        }
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_; });
    }
    void wait_for_visitor() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_ > 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0;
    bool open_ = false;
};

/// A handler that echoes once the gate is open.
auto echo_behind(gate& hold) {
    return [&hold](const control_request& q) {
        hold.pass();
        return echo(q);
    };
}

/// Collects what post_control answers.
class answers {
public:
    std::function<void(std::optional<control_reply>)> next() {
        return [this](std::optional<control_reply> reply) {
            const std::lock_guard lock(mutex_);
            all_.push_back(std::move(reply));
            changed_.notify_all();
        };
    }
    std::deque<std::optional<control_reply>> wait(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, patience, [&] { return all_.size() >= count; });
        return all_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::optional<control_reply>> all_;
};

class Control : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Control, ::testing::ValuesIn(links::all), links::name_of);

TEST_P(Control, ARequestIsHandledAndAnswered) {
    outlet out = serve(counter());
    std::mutex mutex; // what orders both threads lies in libzmq, where ThreadSanitizer does not see it
    control_request seen;
    out.on_control([&](const control_request& q) {
        const std::lock_guard lock(mutex);
        seen = q;
        return control_reply{.data = bytes("set to 7")};
    });
    inlet in = connect(out, {.name = "operator"});
    const double before = local_clock();
    const auto reply = in.send_control(bytes("gain 7"), {.timeout = patience, .about_sequence = 42});
    ASSERT_TRUE(reply);
    EXPECT_TRUE(*reply);
    EXPECT_EQ(text(reply->data), "set to 7");
    const std::lock_guard lock(mutex);
    EXPECT_EQ(text(seen.data), "gain 7");
    EXPECT_EQ(seen.from, "operator");
    EXPECT_EQ(seen.about_sequence, 42u);
    EXPECT_GE(seen.sent_at, before);
    EXPECT_LE(seen.sent_at, local_clock());
    ASSERT_EQ(out.stats().current.size(), 1u);
    EXPECT_EQ(seen.consumer, out.stats().current.front().id) << "the asker can be found among the consumers";
}

TEST_P(Control, AnEmptyRequestAndTheLargestOneTravelWhole) {
    outlet out = serve(counter());
    out.on_control(echo);
    inlet in = connect(out);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, max_control_bytes}) {
        std::vector<std::byte> data(size);
        for (std::size_t i = 0; i < size; ++i)
            data[i] = static_cast<std::byte>(i * 31);
        const auto reply = in.send_control(data, {.timeout = patience});
        ASSERT_TRUE(reply) << size;
        EXPECT_TRUE(reply->data == data) << size;
    }
}

TEST_P(Control, ALargerRequestIsRefusedWhereItIsSent) {
    outlet out = serve(counter());
    out.on_control(echo);
    inlet in = connect(out);
    const std::vector<std::byte> large(max_control_bytes + 1);
    const std::string message = refusal(errc::limit_exceeded, [&] { (void)in.send_control(large); });
    EXPECT_TRUE(mentions(message, std::to_string(large.size()))) << message;
    refusal(errc::limit_exceeded, [&] { in.post_control(large, {}, [](const auto&) { FAIL() << "never sent"; }); });
    EXPECT_TRUE(in.send_control({}, {.timeout = patience})) << "the connection is unharmed";
}

TEST_P(Control, ALargerReplyIsAFailureWithItsSize) {
    outlet out = serve(counter());
    out.on_control(
        [](const control_request&) { return control_reply{.data = std::vector<std::byte>(max_control_bytes + 1)}; });
    inlet in = connect(out);
    const auto reply = in.send_control({}, {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::failed);
    EXPECT_TRUE(mentions(reply->text, std::to_string(max_control_bytes + 1))) << reply->text;
}

TEST_P(Control, BackToBackRequestsAreAllHandledInOrder) {
    for (const control_thread where : both_threads) {
        outlet out = serve(counter());
        std::mutex mutex;
        std::vector<std::string> seen;
        out.on_control(
            [&](const control_request& q) {
                const std::lock_guard lock(mutex);
                seen.push_back(text(q.data));
                return echo(q);
            },
            where);
        answers got;
        inlet in = connect(out);
        constexpr std::size_t count = 200;
        for (std::size_t i = 0; i < count; ++i)
            in.post_control(bytes(std::to_string(i)), {.timeout = patience}, got.next());
        const auto all = got.wait(count);
        ASSERT_EQ(all.size(), count);
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(all[i]) << i;
            EXPECT_EQ(text(all[i]->data), std::to_string(i));
            EXPECT_EQ(seen[i], std::to_string(i));
        }
    }
}

TEST_P(Control, MoreThanCanWaitAreRefusedAsBusyAndTheOthersHandled) {
    gate hold; // before the outlet, whose handler it outlives
    outlet out = serve(counter());
    std::atomic<int> handled{0};
    out.on_control([&](const control_request& q) {
        hold.pass();
        ++handled;
        return echo(q);
    });
    answers got;
    inlet in = connect(out);
    constexpr std::size_t count = 600;
    for (std::size_t i = 0; i < count; ++i)
        in.post_control(bytes(std::to_string(i)), {.timeout = patience}, got.next());
    got.wait(count - 257); // those that find no room are answered at once
    hold.open();
    int done = 0;
    int busy = 0;
    for (const auto& reply : got.wait(count)) {
        ASSERT_TRUE(reply);
        done += reply->status == control_status::done;
        busy += reply->status == control_status::busy;
        EXPECT_TRUE(*reply || !reply->text.empty());
    }
    EXPECT_EQ(done + busy, static_cast<int>(count));
    EXPECT_EQ(done, handled);
    EXPECT_GE(done, 256);
    EXPECT_GT(busy, 0);
}

TEST_P(Control, RepliesReachOnlyTheirAskers) {
    outlet out = serve(counter());
    out.on_control([](const control_request& q) { return control_reply{.data = bytes(q.from + ":" + text(q.data))}; });
    std::vector<std::unique_ptr<inlet>> inlets;
    std::vector<std::unique_ptr<context>> contexts; // of their own, as other programs would have
    for (int i = 0; i < 4; ++i) {
        contexts.push_back(std::make_unique<context>());
        inlets.push_back(std::make_unique<inlet>(
            connect(out, {.name = "asker " + std::to_string(i),
                          .ctx = i % 2 ? std::optional<context>(*contexts.back()) : std::nullopt})));
    }
    std::vector<std::unique_ptr<background>> askers;
    for (std::size_t i = 0; i < inlets.size(); ++i)
        askers.push_back(std::make_unique<background>([&, i] {
            for (int n = 0; n < 50; ++n) {
                const auto reply = inlets[i]->send_control(bytes(std::to_string(n)), {.timeout = patience});
                ASSERT_TRUE(reply);
                EXPECT_EQ(text(reply->data), "asker " + std::to_string(i) + ":" + std::to_string(n));
            }
        }));
    for (auto& asker : askers)
        asker->join();
}

TEST_P(Control, AnOutletWithoutAHandlerSaysSo) {
    outlet out = serve(counter());
    inlet in = connect(out);
    auto reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::no_handler);
    EXPECT_FALSE(*reply);
    out.on_control(echo);
    reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::done);
    out.on_control(nullptr);
    reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::no_handler);
}

TEST_P(Control, AHandlerThatThrowsFailsWithItsTextAndGoesOn) {
    outlet out = serve(counter());
    int calls = 0;
    out.on_control([&](const control_request& q) -> control_reply {
        if (++calls == 1)
            throw std::runtime_error("gain 7 is out of range");
        if (calls == 2)
            throw 5;
        return echo(q);
    });
    inlet in = connect(out);
    auto reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::failed);
    EXPECT_EQ(reply->text, "gain 7 is out of range");
    reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::failed);
    EXPECT_FALSE(reply->text.empty());
    reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(text(reply->data), "x");
}

TEST_P(Control, AHandlerMayRefuse) {
    outlet out = serve(counter());
    out.on_control([](const control_request&) {
        return control_reply{.data = bytes("why"), .status = control_status::refused, .text = "not while recording"};
    });
    inlet in = connect(out);
    const auto reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, control_status::refused);
    EXPECT_EQ(reply->text, "not while recording");
    EXPECT_EQ(text(reply->data), "why");
}

TEST_P(Control, AHandlerThatPassesOnGivesWhatItWasTold) {
    outlet out = serve(counter());
    inlet in = connect(out);
    using enum control_status;
    for (const auto& [told, expected] : {std::pair(failed, failed),
                                         {busy, busy},
                                         {no_handler, no_handler},
                                         {unavailable, unavailable},
                                         {unreachable, unavailable}}) {
        out.on_control([told = told](const control_request&) {
            return control_reply{.data = bytes("not meant"), .status = told, .text = "so it was told"};
        });
        const auto reply = in.send_control(bytes("x"), {.timeout = patience});
        ASSERT_TRUE(reply);
        EXPECT_EQ(reply->status, expected);
        EXPECT_EQ(reply->text, "so it was told");
        EXPECT_TRUE(reply->data.empty());
    }
}

TEST_P(Control, AHandlerMayReplaceItself) {
    for (const control_thread where : both_threads) {
        outlet out = serve(counter());
        out.on_control(
            [&](const control_request&) {
                out.on_control(echo);
                return control_reply{.data = bytes("first")};
            },
            where);
        inlet in = connect(out);
        auto reply = in.send_control(bytes("x"), {.timeout = patience});
        ASSERT_TRUE(reply);
        EXPECT_EQ(text(reply->data), "first");
        reply = in.send_control(bytes("x"), {.timeout = patience});
        ASSERT_TRUE(reply);
        EXPECT_EQ(text(reply->data), "x");
    }
}

TEST_P(Control, AHandlerRunsOnTheThreadThatWasAskedFor) {
    outlet out = serve(counter());
    inlet in = connect(out);
    for (const auto& [where, name] :
         {std::pair(control_thread::own, "rivulet-control"), std::pair(control_thread::io, "rivulet-io"),
          std::pair(control_thread::own, "rivulet-control")}) {
        out.on_control(
            [](const control_request&) {
                char thread[16] = "";
                ::pthread_getname_np(::pthread_self(), thread, sizeof thread);
                return control_reply{.data = bytes(thread)};
            },
            where);
        for (int i = 0; i < 10; ++i) {
            const auto reply = in.send_control(bytes("x"), {.timeout = patience});
            ASSERT_TRUE(reply);
            EXPECT_EQ(text(reply->data), name);
        }
    }
}

TEST_P(Control, ReplacingAHandlerWaitsForTheOneBefore) {
    for (const control_thread where : both_threads) {
        gate hold;
        outlet out = serve(counter());
        std::atomic<bool> ended{false};
        out.on_control(
            [&](const control_request& q) {
                hold.pass();
                ended = true;
                return echo(q);
            },
            where);
        answers got;
        inlet in = connect(out);
        in.post_control(bytes("x"), {.timeout = patience}, got.next());
        hold.wait_for_visitor();
        background replacer([&] {
            out.on_control(nullptr);
            EXPECT_TRUE(ended);
        });
        EXPECT_TRUE(replacer.blocked());
        hold.open();
        replacer.join();
        const auto all = got.wait(1);
        ASSERT_EQ(all.size(), 1u);
        EXPECT_TRUE(all.front());
    }
}

TEST_P(Control, WithoutAReplyInTimeTheOutcomeIsUnknown) {
    gate hold;
    outlet out = serve(counter());
    out.on_control(echo_behind(hold));
    inlet in = connect(out);
    background visitor([&] { EXPECT_TRUE(in.send_control(bytes("first"), {.timeout = patience})); });
    hold.wait_for_visitor(); // so the connection stands, and the next request is sent for sure
    EXPECT_FALSE(in.send_control(bytes("late"), {.timeout = 1ms}));
    hold.open();
    visitor.join();
    const auto reply = in.send_control(bytes("next"), {.timeout = patience});
    ASSERT_TRUE(reply);
    EXPECT_EQ(text(reply->data), "next") << "a reply that came too late is nobody's";
}

TEST_P(Control, StoppingAnswersWhatWaits) {
    gate hold;
    outlet out = serve(counter());
    out.on_control(echo_behind(hold));
    answers got;
    inlet in = connect(out);
    for (int i = 0; i < 10; ++i)
        in.post_control(bytes("x"), {.timeout = forever}, got.next());
    hold.wait_for_visitor();
    background stopper([&] { out.stop(); });
    // At once and by name, or (where the connection ends first) as unknown; the first is still being handled.
    for (const auto& reply : got.wait(9)) {
        if (reply) {
            EXPECT_EQ(reply->status, control_status::unavailable);
        }
    }
    hold.open();
    stopper.join();
    EXPECT_EQ(got.wait(10).size(), 10u);
}

TEST_P(Control, AStuckHandlerDoesNotHoldUpTheEnd) {
    const auto hold = std::make_shared<gate>(); // the handler outlives the outlet
    {
        outlet out = serve(counter(), {.linger = 50ms});
        out.on_control([hold](const control_request& q) {
            hold->pass();
            return echo(q);
        });
        answers got;
        inlet in = connect(out);
        in.post_control(bytes("x"), {.timeout = forever}, got.next());
        hold->wait_for_visitor();
        out.stop();
        in.close();
        EXPECT_EQ(got.wait(1).size(), 1u);
    }
    hold->open();
}

TEST_P(Control, AHandlerMayStopItsOutlet) {
    outlet out = serve(counter());
    std::promise<void> stopped;
    out.on_control([&](const control_request& q) {
        out.stop(10ms);
        stopped.set_value();
        return echo(q);
    });
    answers got;
    inlet in = connect(out);
    in.post_control(bytes("stop"), {.timeout = patience}, got.next());
    stopped.get_future().get();
    EXPECT_EQ(got.wait(1).size(), 1u);
    refusal(errc::closed, [&] { out.push_sample(std::int64_t{1}); });
}

TEST_P(Control, ClosingAnInletEndsItsCallsOnce) {
    gate hold;
    outlet out = serve(counter());
    out.on_control(echo_behind(hold));
    answers got;
    {
        inlet in = connect(out);
        for (int i = 0; i < 5; ++i)
            in.post_control(bytes("x"), {.timeout = forever}, got.next());
        hold.wait_for_visitor();
        in.close();
        EXPECT_EQ(got.wait(5).size(), 5u);
        for (const auto& reply : got.wait(5))
            EXPECT_FALSE(reply) << "whether it was handled is unknown";
        refusal(errc::closed, [&] { (void)in.send_control(bytes("x")); });
    }
    hold.open();
    inlet other = connect(out);
    EXPECT_TRUE(other.send_control(bytes("x"), {.timeout = patience}));
    EXPECT_EQ(got.wait(5).size(), 5u);
}

TEST_P(Control, ACallbackMayDestroyItsInlet) {
    outlet out = serve(counter());
    out.on_control(echo);
    for (int i = 0; i < 20; ++i) {
        auto in = std::make_unique<inlet>(connect(out));
        std::promise<void> gone;
        in->post_control(bytes("x"), {.timeout = patience}, [&](std::optional<control_reply> reply) {
            EXPECT_TRUE(reply);
            in.reset();
            gone.set_value();
        });
        gone.get_future().get();
    }
}

TEST_P(Control, WaitingOnTheIoThreadIsRefused) {
    outlet out = serve(counter());
    out.on_control(echo);
    inlet in = connect(out);
    std::promise<std::string> message;
    in.post_control(bytes("x"), {.timeout = patience}, [&](const std::optional<control_reply>&) {
        message.set_value(refusal(errc::invalid_argument, [&] { (void)in.send_control(bytes("y")); }));
    });
    EXPECT_TRUE(mentions(message.get_future().get(), "post_control"));
}

TEST_P(Control, AnOutletThatIsGoneIsUnreachableOrUnavailable) {
    outlet other = serve(counter()); // keeps its context's service open
    auto out = std::make_unique<outlet>(serve(counter()));
    out->on_control(echo);
    inlet in = connect(*out);
    ASSERT_TRUE(in.send_control(bytes("x"), {.timeout = patience}));
    out.reset();
    const auto reply = in.send_control(bytes("x"), {.timeout = patience});
    ASSERT_TRUE(reply) << "it is known that nothing was done";
    EXPECT_TRUE(reply->status == control_status::unavailable || reply->status == control_status::unreachable)
        << static_cast<int>(reply->status);
}

TEST_P(Control, DataFlowsBesideRequests) {
    for (const control_thread where : both_threads) {
        outlet out = serve(counter());
        out.on_control(
            [&](const control_request& q) {
                out.push_sample(std::int64_t{1}); // a handler may push
                return echo(q);
            },
            where);
        inlet in = connect(out);
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(in.send_control(bytes("x"), {.timeout = patience}));
        EXPECT_EQ(pull<std::int64_t>(in, 20).samples, 20u);
    }
}

} // namespace
} // namespace rivulet::contract
