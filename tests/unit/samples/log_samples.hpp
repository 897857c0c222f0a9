#pragma once

#include "samples/sample_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Samples that say what they should be: every value and stamp follows from the sample's position.
namespace rivulet::samples::testing {

using overflow = sample_log::overflow;

inline constexpr double test_rate = 1000;

inline double stamp_at(std::uint64_t position) { return 100 + static_cast<double>(position) / 8; }
inline std::int64_t value_at(std::uint64_t position, std::size_t channels, std::size_t channel) {
    return static_cast<std::int64_t>(position * channels + channel);
}

inline std::shared_ptr<sample_log> make_log(std::size_t bytes, std::size_t channels = 1,
                                            channel_format format = channel_format::int64) {
    return std::make_shared<sample_log>(
        log_options{.format = format, .channels = channels, .rate_hz = test_rate, .bytes = bytes});
}

/// Numbers below a limit, the same in every run.
class dice {
public:
    explicit dice(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t operator()(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }

private:
    std::mt19937 engine_;
};

/// Appends `count` int64 samples; returns how many were taken before a refusal.
inline std::uint64_t append(sample_log& log, std::uint64_t count, overflow policy = overflow::drop_oldest) {
    const std::size_t channels = log.options().channels;
    std::uint64_t done = 0;
    while (done < count) {
        const sample_log::room room = log.reserve(policy);
        if (room.count == 0)
            break;
        const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(room.count, count - done));
        const std::uint64_t first = log.head();
        auto* values = reinterpret_cast<std::int64_t*>(room.samples);
        for (std::uint32_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < channels; ++c)
                *values++ = value_at(first + i, channels, c);
            room.stamps[i] = stamp_at(first + i);
        }
        log.commit(n);
        done += n;
    }
    return done;
}

/// Appends until the producer would have to wait; returns how many were taken.
inline std::uint64_t append_until_refused(sample_log& log) { return append(log, UINT64_MAX, overflow::refuse); }

/// How many samples of a span differ from what they should be.
inline std::uint64_t wrong_samples(const log_span& span) {
    const std::size_t channels = span.seg->shape().channels;
    const auto* values = reinterpret_cast<const std::int64_t*>(span.samples());
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < span.count; ++i) {
        bool good = span.stamps()[i] == stamp_at(span.position + i);
        for (std::size_t c = 0; c < channels; ++c)
            good &= *values++ == value_at(span.position + i, channels, c);
        wrong += good ? 0 : 1;
    }
    return wrong;
}

/// What a reader got, summed up.
struct tally {
    std::uint64_t read = 0;
    std::uint64_t lost = 0;
    std::uint64_t wrong = 0;
    std::uint64_t next = 0; ///< position that the next span must have
    bool gap_counted = true;

    explicit tally(std::uint64_t start = 0) : next(start) {}

    /// Checks one span and moves the reader behind it; false when there was none.
    bool take(log_reader& reader, std::uint32_t max = UINT32_MAX) {
        const log_span span = reader.peek(max);
        const std::uint64_t jumped = reader.take_lost();
        lost += jumped;
        next += jumped;
        if (!span)
            return false;
        gap_counted &= span.position == next;
        wrong += wrong_samples(span);
        read += span.count;
        next = span.position + span.count;
        reader.advance(span.count);
        return true;
    }
    void take_all(log_reader& reader) {
        while (take(reader)) {
        }
    }
};

/// The text of a value: of any length from 0 up to about 40, NULs among it.
inline std::string text_at(std::uint64_t position, std::size_t channel) {
    std::string text = std::to_string(position * 31 + channel);
    text.append((position * 7 + channel * 3) % 32, static_cast<char>(position % 3 == 0 ? 0 : 'a' + position % 26));
    return position % 11 == 5 ? std::string() : text;
}

/// Appends `count` samples of text in chunks; returns how many were taken before a refusal.
inline std::uint64_t append_text(sample_log& log, std::uint64_t count, std::uint64_t chunk = 64,
                                 overflow policy = overflow::drop_oldest) {
    const std::size_t channels = log.options().channels;
    std::uint64_t done = 0;
    while (done < count) {
        const std::uint64_t n = std::min(chunk, count - done);
        std::vector<std::string> texts;
        std::vector<double> stamps;
        for (std::uint64_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < channels; ++c)
                texts.push_back(text_at(log.head() + i, c));
            stamps.push_back(stamp_at(log.head() + i));
        }
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        const std::uint32_t taken = log.append_text(views, stamps.data(), policy);
        if (taken == 0)
            break;
        done += taken;
    }
    return done;
}

/// Value `i` of a span of text.
inline std::string_view text_of(const log_span& span, std::size_t i) {
    const auto ends = span.offsets();
    const auto* text = reinterpret_cast<const char*>(span.text().data());
    return {text + (ends[i] - ends[0]), ends[i + 1] - ends[i]};
}

} // namespace rivulet::samples::testing
