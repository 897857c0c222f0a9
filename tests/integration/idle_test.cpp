// Who has nothing to do does nothing: threads wait for events and poll nothing.
#include "child_process.hpp"
#include "lab.hpp"
#include "links.hpp"

#include <gtest/gtest.h>
#include <iostream>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::child_process;
using support::program_beside;

class Idle : public ::testing::TestWithParam<links::link> {
protected:
    /// A program in a lab of its own: beacons of the tests beside this one would wake it.
    child_process run(const std::string& program, const std::vector<std::string>& arguments) const {
        std::vector<std::string> command{program_beside(program)};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return child_process(command, lab_.environment());
    }

    /// Watches a process for a while. Bounds that keep-alives and housekeeping stay far below, and a thread that polls
    /// every millisecond far above.
    static void expect_idle(const child_process& process, const std::string& who) {
        const auto before = process.used();
        std::this_thread::sleep_for(3s); // the window of the measurement
        const auto after = process.used();
        const double cpu = after.cpu_seconds - before.cpu_seconds;
        const auto switches = after.voluntary_switches - before.voluntary_switches;
        std::cout << who << ": " << cpu << " s of CPU and " << switches << " context switches in 3 s\n";
        EXPECT_LE(cpu, 0.15) << who;
        EXPECT_LE(switches, 300u) << who;
    }

private:
    support::lab lab_;
};
INSTANTIATE_TEST_SUITE_P(Over, Idle, ::testing::ValuesIn(links::between_processes), links::name_of);

TEST_P(Idle, AConnectedPairUsesNoCpu) {
    for (const std::string mode : {"async", "sync"}) {
        child_process publisher = run("test_source", {GetParam().any(), mode, "drop", "idle"});
        child_process consumer = run("test_sink", {publisher.line(), "drop"});
        ASSERT_TRUE(consumer.says("connected"));
        ASSERT_TRUE(publisher.says("connected"));
        expect_idle(publisher, mode + " publisher");
        expect_idle(consumer, mode + " consumer");
    }
}

TEST_P(Idle, AnOutletWithoutConsumersUsesNoCpu) {
    child_process publisher = run("test_source", {GetParam().any(), "async", "drop", "idle"});
    ASSERT_NE(publisher.line(), "");
    expect_idle(publisher, "lonely publisher");
}

TEST_P(Idle, AConsumerOfAKilledPublisherUsesNoCpu) {
    child_process publisher = run("test_source", {GetParam().any(), "async", "drop", "idle"});
    child_process consumer = run("test_sink", {publisher.line(), "drop", "600000"});
    ASSERT_TRUE(consumer.says("connected"));
    publisher.signal(SIGKILL);
    expect_idle(consumer, "orphaned consumer");
}

TEST_P(Idle, AConsumerWhoseOutletIsNotThereYetUsesNoCpu) {
    child_process consumer = run("test_sink", {GetParam().fixed(), "drop"});
    ASSERT_TRUE(consumer.blocked());
    expect_idle(consumer, "early consumer");
}

TEST_P(Idle, AHeldFloodUsesNoCpu) {
    child_process publisher = run("test_source", {GetParam().any(), "async", "wait", "flood"});
    const std::string endpoint = publisher.line();
    child_process consumer = run("test_sink", {endpoint, "hold"});
    ASSERT_TRUE(consumer.says("connected"));
    ASSERT_TRUE(consumer.stop());
    ASSERT_TRUE(publisher.blocked());
    expect_idle(publisher, "blocked publisher");
}

} // namespace
} // namespace rivulet
