#pragma once

#include "links.hpp"
#include "sanitized.hpp"
#include "waiting.hpp"

#include <rivulet/rivulet.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

/// What the contract programs share. They use the public API only, as a user does, and never ask which link they run
/// over. Tests wait for conditions; the only clock is the watchdog that ends a test which would hang.
namespace rivulet::contract {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using waiting::blocks;
using waiting::eventually;
using waiting::patience;

inline constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::size_t MiB = 1u << 20;

inline stream_info numbers(channel_format format, std::uint64_t channels = 1, double rate_hz = irregular) {
    return {.name = "contract", .channel_count = channels, .nominal_rate_hz = rate_hz, .format = format};
}
/// A stream whose samples carry their own sequence number: see counting().
inline stream_info counter(std::uint64_t channels = 1) { return numbers(channel_format::int64, channels); }

/// An outlet whose buffer is large enough, and whose close is patient enough, that nothing is lost unless a test says
/// so.
inline outlet serve_at(std::string endpoint, stream_info info, outlet_options options = {}) {
    options.endpoints = {std::move(endpoint)};
    if (!options.buffer)
        options.buffer = 64 * MiB;
    if (!options.linger)
        options.linger = patience;
    return outlet(std::move(info), std::move(options));
}

inline inlet connect(const outlet& out, inlet_options options = {}) {
    if (!options.max_buffered)
        options.max_buffered = 64 * MiB;
    options.open_timeout = patience;
    return inlet(out.endpoints().front(), std::move(options));
}

/// Base of all suites: a test runs once for each link, and ends the process when it hangs.
class promises : public ::testing::TestWithParam<links::link> {
protected:
    void SetUp() override { ::alarm(support::sanitized ? 900 : 150); }
    void TearDown() override { ::alarm(0); }

    /// serve_at() on a fresh endpoint of the link.
    static outlet serve(stream_info info, outlet_options options = {}) {
        return serve_at(GetParam().any(), std::move(info), std::move(options));
    }
};

inline outlet_options sync_mode() { return {.mode = delivery::sync}; }

/// For counting(). ThreadSanitizer need not watch memory that nobody else knows yet.
template<class T>
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) void count_up(T* at, std::size_t values, std::uint64_t first,
                                                                       std::uint64_t channels) {
    for (std::uint64_t i = 0; i < values; ++i)
        at[i] = static_cast<T>(first + i / channels);
}

/// [samples x channels] values of a counter stream from sample `first` on.
template<class T = std::int64_t>
std::vector<T> counting(std::uint64_t first, std::uint64_t samples, std::uint64_t channels = 1) {
    std::vector<T> values(samples * channels);
    count_up(values.data(), values.size(), first, channels);
    return values;
}

/// All that was pulled from an inlet, glued together, and what was missing.
template<class T>
struct recording {
    std::vector<T> values;
    std::vector<double> stamps;
    std::vector<std::uint64_t> sequences; ///< one a sample
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t lost_at_end = 0; ///< that part of `lost` which the ended result told of
    std::size_t pulls = 0;
    bool ended = false;
};

/// Pulls until `total` samples are accounted for, as pulled or as lost, or the stream ended. Checks that the sequence
/// numbers of consecutive results fit together. At most `cut` samples a pull.
template<class T>
recording<T> pull(inlet& in, std::uint64_t total = everything, std::size_t cut = 4096) {
    recording<T> all;
    std::vector<T> values;
    std::vector<double> stamps;
    while (all.samples + all.lost < total) {
        const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(cut, total - all.samples));
        const pull_result got = in.pull_chunk(values, stamps, patience, wanted);
        all.lost += got.lost_before;
        if (got.status == pull_status::ended) {
            all.ended = true;
            all.lost_at_end = got.lost_before;
            break;
        }
        if (got.status == pull_status::timeout) {
            ADD_FAILURE() << "gave up waiting after " << all.samples << " samples and " << all.lost << " lost";
            break;
        }
        EXPECT_GE(got.samples, 1u);
        EXPECT_LE(got.samples, wanted);
        EXPECT_EQ(values.size(), got.samples * in.channel_count());
        EXPECT_EQ(stamps.size(), got.samples);
        if (!all.sequences.empty()) {
            EXPECT_EQ(got.first_sequence, all.sequences.back() + 1 + got.lost_before) << "sequence numbers do not fit";
        }
        for (std::size_t i = 0; i < got.samples; ++i)
            all.sequences.push_back(got.first_sequence + i);
        all.values.insert(all.values.end(), values.begin(), values.end());
        all.stamps.insert(all.stamps.end(), stamps.begin(), stamps.end());
        all.samples += got.samples;
        ++all.pulls;
    }
    return all;
}

/// What an inlet of a one-channel counter stream got, without keeping it: for streams too large to record at speed.
struct tally {
    std::uint64_t first = 0; ///< sequence number of the first sample
    std::uint64_t next = 0;  ///< one after that of the last
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    bool right = true; ///< each value was that of its sequence number, and sequence numbers fit together
    bool ended = false;
};

/// The numbers of a counter stream from sample `first` on. ThreadSanitizer is told to look away: it has seen the values
/// come, and would make each look ten times slower.
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) inline bool counts_up(std::span<const std::int64_t> values,
                                                                               std::uint64_t first) {
    const std::int64_t* at = values.data();
    for (std::size_t i = 0, n = values.size(); i < n; ++i)
        if (at[i] != static_cast<std::int64_t>(first + i))
            return false;
    return true;
}

/// Pulls as pull() does, checking each value.
inline tally follow(inlet& in, std::uint64_t total = everything, std::size_t cut = 50'000) {
    tally all;
    std::vector<std::int64_t> values(std::min<std::uint64_t>(cut, total));
    while (all.samples + all.lost < total) {
        const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(cut, total - all.samples));
        const pull_result got = in.pull_chunk(std::span(values).first(wanted), {}, patience);
        all.lost += got.lost_before;
        all.ended = got.status == pull_status::ended;
        if (!got) {
            EXPECT_TRUE(all.ended) << "gave up waiting after " << all.samples << " samples and " << all.lost << " lost";
            break;
        }
        if (all.samples == 0)
            all.first = got.first_sequence;
        else
            all.right = all.right && got.first_sequence == all.next + got.lost_before;
        all.right = all.right && counts_up(std::span(values).first(got.samples), got.first_sequence);
        all.samples += got.samples;
        all.next = got.first_sequence + got.samples;
    }
    return all;
}

/// That a tally is gap-free and holds the samples from `first` to before `end`.
inline ::testing::AssertionResult holds_exactly(const tally& all, std::uint64_t first, std::uint64_t end) {
    if (all.lost == 0 && all.right && all.first == first && all.next == end && all.samples == end - first)
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << all.samples << " samples from " << all.first << " to before " << all.next
                                         << ", " << all.lost << " lost, " << (all.right ? "" : "not ")
                                         << "all right; expected " << first << " to before " << end;
}

/// Equal to the bit: NaN equals the same NaN, and 0.0 is not -0.0.
template<class A, class B>
::testing::AssertionResult same(const A& actual, const B& expected) {
    using value = std::remove_cvref_t<decltype(*std::begin(actual))>;
    static_assert(std::is_same_v<value, std::remove_cvref_t<decltype(*std::begin(expected))>>);
    if (std::size(actual) != std::size(expected))
        return ::testing::AssertionFailure() << std::size(actual) << " values instead of " << std::size(expected);
    if constexpr (std::is_arithmetic_v<value>) // all at once: sanitizers make every access slow
        if (std::size(actual) == 0 ||
            std::memcmp(std::data(actual), std::data(expected), std::size(actual) * sizeof(value)) == 0)
            return ::testing::AssertionSuccess();
    for (std::size_t i = 0; i < std::size(actual); ++i) {
        if constexpr (std::is_arithmetic_v<value>) {
            if (std::memcmp(&actual[i], &expected[i], sizeof(value)) != 0)
                return ::testing::AssertionFailure() << "value " << i << " is " << ::testing::PrintToString(actual[i])
                                                     << " instead of " << ::testing::PrintToString(expected[i]);
        } else if (actual[i] != expected[i]) {
            return ::testing::AssertionFailure() << "value " << i << " differs (" << actual[i].size() << " bytes, "
                                                 << expected[i].size() << " expected)";
        }
    }
    return ::testing::AssertionSuccess();
}

/// That a recording of a counter stream is gap-free and holds the samples from `first` to before `end`.
template<class T>
::testing::AssertionResult holds_exactly(const recording<T>& all, std::uint64_t first, std::uint64_t end,
                                         std::uint64_t channels = 1) {
    if (all.lost != 0)
        return ::testing::AssertionFailure() << all.lost << " samples lost";
    if (all.samples != end - first)
        return ::testing::AssertionFailure() << all.samples << " samples instead of " << end - first;
    if (all.samples > 0 && all.sequences.front() != first)
        return ::testing::AssertionFailure() << "begins at " << all.sequences.front() << " instead of " << first;
    return same(all.values, counting<T>(first, end - first, channels));
}

/// That every value of a one-channel counter stream with losses is that of its sequence number.
template<class T>
::testing::AssertionResult values_fit_sequences(const recording<T>& all) {
    for (std::size_t i = 0; i < all.values.size(); ++i) {
        if (all.values[i] != static_cast<T>(all.sequences[i]))
            return ::testing::AssertionFailure() << "sample " << all.sequences[i] << " carries " << all.values[i];
    }
    return ::testing::AssertionSuccess();
}

/// Calls `action`, which must throw a rivulet error of this code; returns its message.
inline std::string refusal(errc code, const std::function<void()>& action) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown; expected: " << make_error_code(code).message();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), make_error_code(code)) << e.what();
        return e.what();
    }
    return "";
}

inline bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A future that runs at once on its own thread, and tells which thread that is.
struct background {
    template<class Action>
    explicit background(Action action)
        : done(std::async(std::launch::async, [this, action] {
              id.set_value(::gettid());
              action();
          })) {}
    background(const background&) = delete;
    background& operator=(const background&) = delete;
    /// Waits until the action is blocked in something.
    bool blocked() { return blocks(::getpid(), thread); }
    /// Waits for its end; throws what it threw.
    void join() { done.get(); }

    std::promise<pid_t> id;
    std::future<void> done;
    pid_t thread = id.get_future().get();
};

} // namespace rivulet::contract
