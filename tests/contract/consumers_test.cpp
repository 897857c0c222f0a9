// The outlet knows who listens: how many, who they are, when they come and go, what each of them got.
#include "contract.hpp"

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <set>

namespace rivulet::contract {
namespace {

class Consumers : public promises {};
INSTANTIATE_TEST_SUITE_P(Over, Consumers, ::testing::ValuesIn(links::all), links::name_of);

using kind = consumer_event::kind;

/// Collects what on_consumer reports.
class event_log {
public:
    explicit event_log(outlet& out) {
        out.on_consumer([this](const consumer_event& event) {
            const std::lock_guard lock(mutex_);
            events_.push_back(event);
        });
    }
    std::vector<consumer_event> all() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    std::size_t count(kind what) const {
        const auto events = all();
        return static_cast<std::size_t>(
            std::count_if(events.begin(), events.end(), [&](const auto& event) { return event.what == what; }));
    }
    bool reach(kind what, std::size_t wanted) const {
        return eventually([&] { return count(what) >= wanted; });
    }

private:
    mutable std::mutex mutex_;
    std::vector<consumer_event> events_;
};

bool is_id(const std::string& id) {
    return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST_P(Consumers, AreCountedWhenTheInletIsOpenAndWhenItIsGone) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve(counter(), {.mode = mode});
        EXPECT_FALSE(out.has_consumers());
        EXPECT_EQ(out.consumer_count(), 0u);
        {
            inlet first = connect(out);
            EXPECT_TRUE(out.has_consumers());
            EXPECT_EQ(out.consumer_count(), 1u);
            inlet second = connect(out);
            inlet third = connect(out);
            EXPECT_EQ(out.consumer_count(), 3u);
            second.close();
            EXPECT_TRUE(eventually([&] { return out.consumer_count() == 2; }));
            inlet moved = std::move(third);
            EXPECT_EQ(out.consumer_count(), 2u);
        }
        // No push tells the outlet that they are gone.
        EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
        EXPECT_FALSE(out.has_consumers());
    }
}

TEST_P(Consumers, WaitForConsumersGivesUpInTime) {
    outlet out = serve(counter());
    EXPECT_FALSE(out.wait_for_consumers(0ms));
    EXPECT_FALSE(out.wait_for_consumers(20ms));
    EXPECT_TRUE(out.wait_for_consumers(0ms, 0));
    inlet in = connect(out);
    EXPECT_TRUE(out.wait_for_consumers(0ms));
    EXPECT_FALSE(out.wait_for_consumers(20ms, 2));
}

TEST_P(Consumers, WaitForConsumersWaitsForAsManyAsAsked) {
    outlet out = serve(counter());
    background waiter([&] {
        EXPECT_TRUE(out.wait_for_consumers(forever, 3));
        EXPECT_EQ(out.consumer_count(), 3u);
        out.push_sample(std::int64_t{0});
    });
    std::vector<inlet> inlets;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(waiter.blocked());
        inlets.push_back(connect(out));
    }
    waiter.join();
    for (inlet& in : inlets)
        EXPECT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), 0, 1));
}

TEST_P(Consumers, ComingAndGoingIsReported) {
    outlet out = serve(counter());
    event_log log(out);
    out.push_chunk(counting(0, 10));
    auto in = std::make_unique<inlet>(connect(out, {.name = "recorder 7"}));
    ASSERT_TRUE(log.reach(kind::joined, 1));
    out.push_chunk(counting(10, 10));
    pull<std::int64_t>(*in, 10);
    in.reset();
    ASSERT_TRUE(log.reach(kind::left, 1));
    const auto events = log.all();
    ASSERT_EQ(events.size(), 2u);
    for (const consumer_event& event : events) {
        EXPECT_TRUE(is_id(event.id)) << event.id;
        EXPECT_EQ(event.id, events[0].id);
        EXPECT_EQ(event.name, "recorder 7");
        EXPECT_EQ(event.link, out.endpoints().front());
    }
    EXPECT_EQ(events[0].what, kind::joined);
    EXPECT_EQ(events[0].sequence, 10u) << "it gets every sample from here on";
    EXPECT_EQ(events[1].sequence, 20u);
    out.on_consumer({});
}

TEST_P(Consumers, AnInletThatGivesNoNameHasOne) {
    outlet out = serve(counter());
    event_log log(out);
    inlet in = connect(out);
    ASSERT_TRUE(log.reach(kind::joined, 1));
    EXPECT_TRUE(mentions(log.all()[0].name, std::to_string(::getpid()))) << log.all()[0].name;
    out.on_consumer({});
}

TEST_P(Consumers, WhoIsThereAlreadyIsReportedAtOnce) {
    outlet out = serve(counter());
    inlet first = connect(out, {.name = "first"});
    inlet second = connect(out, {.name = "second"});
    std::multiset<std::string> names;
    const auto caller = std::this_thread::get_id();
    out.on_consumer([&](const consumer_event& event) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(event.what, kind::joined);
        names.insert(event.name);
    });
    EXPECT_EQ(names, (std::multiset<std::string>{"first", "second"}));
    out.on_consumer({});
}

TEST_P(Consumers, WhoJoinsDuringTheRegistrationIsReportedOnce) {
    for (int round = 0; round < 30; ++round) {
        outlet out = serve(counter());
        std::vector<inlet> inlets;
        background joining([&] {
            for (int i = 0; i < 5; ++i)
                inlets.push_back(connect(out));
        });
        ASSERT_TRUE(out.wait_for_consumers(patience, 1 + static_cast<std::size_t>(round) % 3));
        event_log log(out);
        joining.join();
        ASSERT_TRUE(log.reach(kind::joined, 5));
        out.on_consumer({});
        std::set<std::string> ids;
        for (const consumer_event& event : log.all())
            EXPECT_TRUE(ids.insert(event.id).second) << "reported twice";
        EXPECT_EQ(ids.size(), 5u);
    }
}

TEST_P(Consumers, AnEmptyCallbackEndsTheReports) {
    outlet out = serve(counter());
    event_log first(out);
    inlet one = connect(out);
    ASSERT_TRUE(first.reach(kind::joined, 1));
    out.on_consumer({});
    inlet two = connect(out);
    event_log second(out); // replaces; reports the two that are there
    inlet three = connect(out);
    ASSERT_TRUE(second.reach(kind::joined, 3));
    EXPECT_EQ(first.all().size(), 1u);
    out.on_consumer({});
}

TEST_P(Consumers, EndingTheReportsWaitsForOneThatIsUnderWay) {
    outlet out = serve(counter());
    std::promise<void> entered, leave;
    std::atomic<bool> over{false};
    out.on_consumer([&](const consumer_event&) {
        entered.set_value();
        leave.get_future().wait();
        over = true;
    });
    std::unique_ptr<inlet> in; // its constructor makes the call itself where both ends are in one process
    background joining([&] { in = std::make_unique<inlet>(connect(out)); });
    entered.get_future().wait();
    background ending([&] {
        out.on_consumer({});
        EXPECT_TRUE(over) << "what the callback refers to may be gone now";
    });
    EXPECT_TRUE(ending.blocked());
    leave.set_value();
    ending.join();
    joining.join();
}

TEST_P(Consumers, FiftyTimesJoinedAndLeftIsNobody) {
    outlet out = serve(counter());
    event_log log(out);
    for (std::int64_t i = 0; i < 50; ++i) {
        inlet in = connect(out, {.name = "the same"});
        out.push_sample(i);
        const auto first = static_cast<std::uint64_t>(i);
        ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 1), first, first + 1));
        in.close();
        ASSERT_TRUE(log.reach(kind::left, first + 1));
    }
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
    out.on_consumer({});
    std::map<std::string, std::vector<kind>> by_id;
    for (const consumer_event& event : log.all())
        by_id[event.id].push_back(event.what);
    EXPECT_EQ(by_id.size(), 50u);
    for (const auto& [id, kinds] : by_id)
        EXPECT_EQ(kinds, (std::vector{kind::joined, kind::left})) << id;
    const outlet_stats stats = out.stats();
    EXPECT_EQ(stats.consumers, 50u);
    EXPECT_EQ(stats.kicked, 0u);
    EXPECT_TRUE(stats.current.empty());
    EXPECT_EQ(stats.sent, 50u);
    EXPECT_EQ(stats.dropped, 0u);
}

TEST_P(Consumers, StatsAddUp) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve(counter(), {.mode = mode});
        inlet first = connect(out, {.name = "first"});
        out.push_chunk(counting(0, 100));
        inlet second = connect(out, {.name = "second"});
        out.push_chunk(counting(100, 100));
        pull<std::int64_t>(first, 200);
        ASSERT_TRUE(eventually([&] { return second.samples_available() == 100; }));
        pull<std::int64_t>(second, 50);
        const inlet_stats received = second.stats();
        EXPECT_TRUE(received.connected);
        EXPECT_EQ(received.samples, 100u);
        EXPECT_EQ(received.pulled, 50u);
        EXPECT_EQ(received.buffered, 50u);
        EXPECT_EQ(received.lost, 0u);
        EXPECT_EQ(received.reconnects, 0u);
        EXPECT_EQ(received.ignored, 0u);

        pull<std::int64_t>(second, 50);
        ASSERT_TRUE(out.flush(patience));
        const outlet_stats stats = out.stats();
        EXPECT_EQ(stats.pushed, 200u);
        EXPECT_EQ(stats.sent, 300u);
        EXPECT_EQ(stats.dropped, 0u);
        EXPECT_EQ(stats.consumers, 2u);
        ASSERT_EQ(stats.current.size(), 2u);
        for (const consumer_stats& consumer : stats.current) {
            EXPECT_TRUE(is_id(consumer.id));
            EXPECT_EQ(consumer.link, out.endpoints().front());
            EXPECT_EQ(consumer.sent, consumer.name == "first" ? 200u : 100u) << consumer.name;
            EXPECT_EQ(consumer.dropped, 0u);
            EXPECT_EQ(consumer.lag, 0u);
        }
    }
}

/// Frames of a sync push are one a push, whatever the link.
TEST_P(Consumers, AnInletCountsTheFramesAndBytesThatCame) {
    outlet out = serve(counter(4), sync_mode());
    inlet in = connect(out);
    EXPECT_EQ(in.stats().frames, 0u);
    EXPECT_EQ(in.stats().bytes, 0u);
    constexpr std::uint64_t frames = 20, samples = 50;
    for (std::uint64_t i = 0; i < frames; ++i)
        out.push_chunk(counting(i * samples, samples, 4));
    ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, frames * samples), 0, frames * samples, 4));
    const inlet_stats received = in.stats();
    EXPECT_EQ(received.frames, frames);
    const std::uint64_t payload = frames * samples * 4 * sizeof(std::int64_t);
    EXPECT_GT(received.bytes, payload);
    EXPECT_LE(received.bytes, payload + frames * 40) << "a head takes a few bytes";
}

TEST_P(Consumers, WhatAStuckConsumerLostIsInTheStats) {
    outlet out = serve(counter(), {.buffer = 2 * MiB});
    inlet stuck = connect(out, {.full = when_full::hold, .max_buffered = MiB});
    const std::uint64_t samples = 10'000'000; // 80 MB: more than all buffers on the way
    for (std::uint64_t i = 0; i < samples; i += 10'000)
        out.push_chunk(counting(i, 10'000));
    const auto all = follow(stuck, samples);
    EXPECT_GT(all.lost, 0u);
    ASSERT_TRUE(out.flush(patience));
    const outlet_stats stats = out.stats();
    EXPECT_EQ(stats.pushed, samples);
    EXPECT_EQ(stats.dropped, all.lost);
    EXPECT_EQ(stats.sent, all.samples);
    ASSERT_EQ(stats.current.size(), 1u);
    EXPECT_EQ(stats.current[0].dropped, all.lost);
    EXPECT_EQ(stuck.stats().lost, all.lost);
}

TEST_P(Consumers, MaxConsumersIsKept) {
    outlet out = serve(counter(), {.max_consumers = 2});
    inlet first = connect(out);
    auto second = std::make_unique<inlet>(connect(out));
    EXPECT_THROW(inlet(out.endpoints().front(), {.open_timeout = 200ms}), error);
    EXPECT_EQ(out.consumer_count(), 2u);
    out.push_chunk(counting(0, 100));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(first, 100), 0, 100));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(*second, 100), 0, 100));
    second.reset();
    ASSERT_TRUE(eventually([&] { return out.consumer_count() == 1; }));
    inlet third = connect(out);
    out.push_chunk(counting(100, 100));
    EXPECT_TRUE(holds_exactly(pull<std::int64_t>(third, 100), 100, 200));
}

TEST_P(Consumers, OneOutletServesSeveralEndpointsAtOnce) {
    outlet_options options;
    options.endpoints = {GetParam().any(), links::inproc.any(), links::zmq_tcp.any(), GetParam().any()};
    outlet out(counter(), options);
    const auto endpoints = out.endpoints();
    ASSERT_EQ(endpoints.size(), 4u);
    EXPECT_EQ(std::set<std::string>(endpoints.begin(), endpoints.end()).size(), 4u);
    event_log log(out);
    std::vector<inlet> inlets;
    for (const std::string& endpoint : endpoints) {
        inlets.emplace_back(endpoint);
        EXPECT_EQ(inlets.back().endpoint(), endpoint);
        EXPECT_EQ(inlets.back().info().uid, out.info().uid);
    }
    EXPECT_EQ(out.consumer_count(), 4u);
    ASSERT_TRUE(log.reach(kind::joined, 4));
    out.on_consumer({});
    std::set<std::string> seen;
    for (const consumer_event& event : log.all())
        seen.insert(event.link);
    EXPECT_EQ(seen, std::set<std::string>(endpoints.begin(), endpoints.end()));
    for (std::uint64_t i = 0; i < 100; ++i)
        out.push_chunk(counting(i * 100, 100));
    out.stop();
    for (inlet& in : inlets) {
        const auto all = pull<std::int64_t>(in);
        EXPECT_TRUE(holds_exactly(all, 0, 10'000)) << in.endpoint();
        EXPECT_TRUE(all.ended);
    }
}

TEST_P(Consumers, SeveralEndpointsInSyncModeToo) {
    outlet_options options{.mode = delivery::sync};
    options.endpoints = {GetParam().any(), links::inproc.any(), links::zmq_ipc.any()};
    outlet out(counter(), options);
    std::vector<inlet> inlets;
    for (const std::string& endpoint : out.endpoints())
        inlets.emplace_back(endpoint);
    ASSERT_EQ(inlets.size(), 3u);
    std::vector<std::int64_t> memory;
    for (std::uint64_t i = 0; i < 100; ++i) {
        memory = counting(i * 5000, 5000);
        out.push_chunk(memory);
        std::fill(memory.begin(), memory.end(), -1);
        for (inlet& in : inlets)
            ASSERT_TRUE(holds_exactly(pull<std::int64_t>(in, 5000), i * 5000, (i + 1) * 5000));
    }
}

} // namespace
} // namespace rivulet::contract
