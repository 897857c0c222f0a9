// A lost stream that is somewhere else by now, as beacons tell.
#include "cable.hpp"
#include "lab.hpp"
#include "links.hpp"
#include "waiting.hpp"

#include <rivulet/rivulet.hpp>

#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <vector>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::cable;
using waiting::eventually;
using waiting::patience;

class Succession : public ::testing::TestWithParam<links::link> {
protected:
    std::unique_ptr<outlet> serve(std::string source_id = "amplifier-1") const {
        outlet_options options;
        options.endpoints = {GetParam().any()};
        options.ctx = lab_.make_context();
        options.linger = 0s;
        return std::make_unique<outlet>(
            stream_info{.name = "EEG", .format = channel_format::int64, .source_id = std::move(source_id)}, options);
    }
    inlet connect(const cable& wire) const {
        return inlet(wire.endpoint(), {.open_timeout = patience, .ctx = lab_.make_context()});
    }
    static void push(outlet& out, std::int64_t first, std::size_t samples) {
        std::vector<std::int64_t> values(samples);
        std::iota(values.begin(), values.end(), first);
        out.push_chunk(values);
    }
    /// Pulls so many samples of one segment, in order.
    static bool gets(inlet& in, std::uint64_t first, std::size_t samples, bool new_segment = false) {
        std::vector<std::int64_t> values;
        std::vector<double> stamps;
        for (std::uint64_t next = first; next < first + samples; new_segment = false) {
            const pull_result got = in.pull_chunk(values, stamps, patience);
            if (!got || got.lost_before != 0 || got.first_sequence != next || got.new_segment != new_segment)
                return false;
            for (std::size_t i = 0; i < got.samples; ++i)
                if (values[i] != static_cast<std::int64_t>(next + i))
                    return false;
            next += got.samples;
        }
        return true;
    }

    support::lab lab_;
};

TEST_P(Succession, TheSameOutletIsFoundAtAnotherOfItsAddressesAndGoesOnWithoutAGap) {
    const auto out = serve();
    cable wire(out->endpoints().front());
    inlet in = connect(wire);
    push(*out, 0, 1000);
    EXPECT_TRUE(gets(in, 0, 1000));
    wire.cut(); // for good
    push(*out, 1000, 1000);
    EXPECT_TRUE(gets(in, 1000, 1000));
    EXPECT_EQ(in.endpoint(), out->endpoints().front());
    EXPECT_EQ(in.stats().lost, 0u);
}

TEST_P(Succession, ARestartedSourceIsFoundAtItsNewEndpoint) {
    auto first = serve();
    cable wire(first->endpoints().front());
    inlet in = connect(wire);
    push(*first, 0, 1000);
    EXPECT_TRUE(gets(in, 0, 1000));
    const std::string uid = in.info().uid;
    wire.freeze(); // so that the inlet is not told of the end
    first.reset();
    wire.cut();
    const auto second = serve();
    ASSERT_TRUE(second->wait_for_consumers(patience));
    push(*second, 0, 100);
    EXPECT_TRUE(gets(in, 0, 100, true));
    EXPECT_NE(in.info().uid, uid);
    EXPECT_EQ(in.endpoint(), second->endpoints().front());
}

TEST_P(Succession, AnInletDoesNotSwitchWhileTheFirstLives) {
    const auto first = serve();
    cable wire(first->endpoints().front());
    inlet in = connect(wire);
    push(*first, 0, 10);
    EXPECT_TRUE(gets(in, 0, 10));
    const auto second = serve(); // the same source id twice
    wire.cut();
    push(*first, 10, 10);
    push(*second, 0, 500);
    EXPECT_TRUE(gets(in, 10, 10));
    EXPECT_EQ(in.info().uid, first->info().uid);
}

TEST_P(Succession, AnotherSourceIsNoSuccessor) {
    auto first = serve();
    cable wire(first->endpoints().front());
    inlet in = connect(wire);
    push(*first, 0, 1);
    EXPECT_TRUE(gets(in, 0, 1));
    wire.freeze();
    first.reset();
    wire.cut();
    const auto other = serve("amplifier-2");
    push(*other, 0, 10);
    const auto again = serve();
    ASSERT_TRUE(again->wait_for_consumers(patience));
    push(*again, 0, 10);
    EXPECT_TRUE(gets(in, 0, 10, true));
    EXPECT_EQ(other->consumer_count(), 0u);
}

TEST_P(Succession, AnInletMayGoWhileItSearches) {
    auto out = serve();
    cable wire(out->endpoints().front());
    for (int round = 0; round < 10; ++round) {
        wire.restore();
        inlet in = connect(wire);
        wire.cut();
        if (round % 2 == 0) {
            ASSERT_TRUE(eventually([&] { return !in.stats().connected || in.endpoint() != wire.endpoint(); }));
        }
    }
    EXPECT_TRUE(eventually([&] { return out->consumer_count() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Over, Succession, ::testing::ValuesIn(links::between_processes), links::name_of);

} // namespace
} // namespace rivulet
