#include "memory.hpp"
#include "syscall_counter.hpp"

#include <rivulet/rivulet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using rivulet::support::sanitized;

namespace {

constexpr std::size_t buffer_bytes = 64u << 20;
constexpr std::size_t sample_bytes = sizeof(float) + sizeof(double); ///< in the log, with its stamp
constexpr std::size_t chunk = 1000;

/// An outlet whose sender has more to do than it will ever get done: its consumer takes nothing, all that sockets
/// hold is on its way, and the log has dropped what was not.
class busy_outlet {
public:
    explicit busy_outlet(const std::string& endpoint)
        : out_({.name = "busy", .nominal_rate_hz = 1000},
               {.endpoints = {endpoint}, .buffer = buffer_bytes, .linger = 0ns}),
          in_(out_.endpoints().front(), {.full = rivulet::when_full::hold, .max_buffered = std::size_t{1} << 16}) {
        out_.wait_for_consumers(60s);
        // Far more than fits into the sockets and libzmq's queues: the log's oldest sample is beyond the sender's
        // reach.
        const std::vector<float> values(chunk);
        for (std::size_t i = 0; i < 3 * buffer_bytes / (chunk * sample_bytes); ++i)
            out_.push_chunk(values, 1.0);
    }

    rivulet::outlet& out() { return out_; }
    std::uint64_t lag() const { return out_.stats().current.at(0).lag; }

private:
    rivulet::outlet out_;
    rivulet::inlet in_;
};

struct counted {
    bool possible = false;
    std::uint64_t calls = 0;
    int last = -1;
};

/// System calls that `work` makes on a thread of its own; tried again for a while until there are none, since the
/// sender may still be on its way to where it gets stuck, and hold a block of the log that has to be replaced.
template<class Work>
counted count_calls(Work&& work) {
    counted result;
    syscall_counter counter;
    std::thread([&] {
        result.possible = counter.count_this_thread();
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        do {
            const std::uint64_t before = counter.count();
            work();
            result.calls = counter.count() - before;
            result.last = counter.last();
        } while (result.calls != 0 && result.possible && !sanitized && std::chrono::steady_clock::now() < deadline);
    }).join();
    return result;
}

void expect_none(const counted& got) {
    if (!got.possible || sanitized)
        GTEST_SKIP() << "seccomp notifications are not available here, or a sanitizer makes calls of its own";
    EXPECT_EQ(got.calls, 0u) << "the last was number " << got.last;
}

class QuietPush : public testing::TestWithParam<const char*> {};

} // namespace

TEST(SystemCallCounter, Counts) {
    int rounds = 0;
    const counted got = count_calls([&] {
        if (++rounds < 3)
            std::this_thread::yield();
    });
    if (!got.possible || sanitized)
        GTEST_SKIP() << "seccomp notifications are not available here, or a sanitizer makes calls of its own";
    EXPECT_EQ(rounds, 3) << "and two of them made a call";
}

TEST_P(QuietPush, SamplesMakeNoSystemCallWhileTheSenderIsBusy) {
    busy_outlet busy(GetParam());
    ASSERT_GT(busy.lag(), buffer_bytes / sample_bytes);
    expect_none(count_calls([&] {
        for (int i = 0; i < 100000; ++i)
            busy.out().push_sample(1.0f, 2.0);
        for (int i = 0; i < 1000; ++i)
            busy.out().push_sample(1.0f); // stamped with the clock
    }));
}

TEST_P(QuietPush, ChunksMakeNoSystemCallWhileTheSenderIsBusy) {
    busy_outlet busy(GetParam());
    ASSERT_GT(busy.lag(), buffer_bytes / sample_bytes);
    const std::vector<float> values(chunk);
    expect_none(count_calls([&] {
        for (int i = 0; i < 1000; ++i)
            busy.out().push_chunk(values, 2.0);
    }));
}

INSTANTIATE_TEST_SUITE_P(Links, QuietPush, testing::Values("zmq+tcp://127.0.0.1:*", "posix+tcp://127.0.0.1:*"),
                         [](const auto& link) { return std::string(link.param, link.param[0] == 'z' ? 3 : 5); });
