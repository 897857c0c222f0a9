// What comes and goes leaves no descriptor, thread or memory behind.
#include "counter_stream.hpp"
#include "links.hpp"
#include "memory.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::push_and_pull;
using support::serve_counter;
using waiting::eventually;

constexpr std::size_t MiB = 1u << 20;

class Resources : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, Resources, ::testing::ValuesIn(links::all), links::name_of);

std::size_t entries(const std::string& folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
std::size_t descriptors() { return entries("/proc/self/fd"); }
std::size_t threads() { return entries("/proc/self/task"); }

/// Runs the action a few times, so that what is made once is made, then 100 times: nothing may have been added.
template<class Action>
void leaves_nothing_behind(Action action) {
    for (int i = 0; i < 3; ++i)
        action();
    // What goes in the background has gone when the counts stay the same.
    std::size_t descriptors_before = 0, same = 0;
    ASSERT_TRUE(eventually([&] {
        same = std::exchange(descriptors_before, descriptors()) == descriptors() ? same + 1 : 0;
        return same > 100;
    }));
    const std::size_t threads_before = threads();
    for (int i = 0; i < 100; ++i)
        action();
    EXPECT_TRUE(eventually([&] { return descriptors() <= descriptors_before; }, 10s))
        << descriptors_before << " descriptors became " << descriptors();
    EXPECT_TRUE(eventually([&] { return threads() <= threads_before; }, 10s))
        << threads_before << " threads became " << threads();
}

TEST_P(Resources, InletsThatComeAndGo) {
    outlet out = serve_counter(GetParam().any());
    std::uint64_t pushed = 0;
    leaves_nothing_behind([&] {
        inlet in(out.endpoints().front());
        push_and_pull(out, pushed, {&in}, 100);
    });
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
}

TEST_P(Resources, OutletsThatComeAndGo) {
    leaves_nothing_behind([] {
        outlet out = serve_counter(GetParam().any());
        inlet in(out.endpoints().front());
        std::uint64_t pushed = 0;
        push_and_pull(out, pushed, {&in}, 100);
    });
}

TEST_P(Resources, SyncOutletsThatComeAndGo) {
    leaves_nothing_behind([] {
        outlet out = serve_counter(GetParam().any(), {.mode = delivery::sync});
        inlet in(out.endpoints().front());
        std::uint64_t pushed = 0;
        push_and_pull(out, pushed, {&in}, 100);
    });
}

TEST_P(Resources, ContextsThatComeAndGo) {
    leaves_nothing_behind([] {
        context ctx{config{}};
        outlet out = serve_counter(GetParam().any(), {.ctx = ctx});
        inlet in(out.endpoints().front(), {.ctx = ctx});
        std::uint64_t pushed = 0;
        push_and_pull(out, pushed, {&in}, 10);
    });
}

TEST_P(Resources, AttemptsThatFail) {
    outlet owner = serve_counter(GetParam().fixed());
    leaves_nothing_behind([&] {
        EXPECT_THROW(inlet(GetParam().fixed(), {.open_timeout = 5ms}), error);
        EXPECT_THROW(serve_counter(owner.endpoints().front()), error);
    });
}

TEST_P(Resources, MemoryAfterManyStreams) {
    const auto stream = [] {
        outlet out = serve_counter(GetParam().any(), {.buffer = 4 * MiB});
        inlet in(out.endpoints().front());
        std::uint64_t pushed = 0;
        for (int i = 0; i < 50; ++i)
            push_and_pull(out, pushed, {&in});
    };
    for (int i = 0; i < 5; ++i)
        stream();
    const support::memory_mark before;
    for (int i = 0; i < 100; ++i)
        stream();
    EXPECT_TRUE(before.grew_at_most(64 * MiB));
}

TEST_P(Resources, HundredsOfStreamsInOneProcess) {
    // More sockets than libzmq's default limit of 1023, and more than one thread each would be.
    const std::size_t threads_before = threads();
    std::vector<outlet> outlets;
    std::vector<inlet> inlets;
    std::vector<std::uint64_t> pushed(400);
    for (std::size_t i = 0; i < pushed.size(); ++i) {
        outlets.push_back(serve_counter(GetParam().any()));
        inlets.emplace_back(outlets.back().endpoints().front());
    }
    for (std::size_t i = 0; i < pushed.size(); ++i)
        ASSERT_NO_FATAL_FAILURE(push_and_pull(outlets[i], pushed[i], {&inlets[i]}, 10));
    EXPECT_LT(threads(), threads_before + 20);
}

} // namespace
} // namespace rivulet
