#pragma once

#include "common/age_histogram.hpp"
#include "common/json.hpp"

#include <rivulet/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rivulet::tools {

/// A run of missing samples.
struct gap {
    std::uint64_t first_seq = 0;
    std::uint64_t count = 0;
    friend bool operator==(const gap&, const gap&) = default;
};

/// What a subscriber tells of one stream when it is over. Sequence numbers are checked here once more, whatever the
/// library said. Times are local_clock() seconds, stamps those of the clock of the stream's host: ages are corrected by
/// what is known of that one.
class stream_account {
public:
    static constexpr std::size_t max_gaps = 1000; ///< listed; more are only counted

    std::string name, uid, source_id, link;

    /// What one call of chunk or ended found.
    struct finding {
        std::optional<gap> lost;
        std::uint64_t repeated = 0;
    };
    /// @param lost_before samples that the library knows to be missing before first_sequence.
    finding chunk(std::uint64_t first_sequence, std::uint64_t samples, std::uint64_t lost_before, double last_stamp,
                  double arrival);
    /// @param lost samples missing after the last one received. @param end after the stream's last sample.
    finding ended(std::uint64_t lost, std::optional<std::uint64_t> end = std::nullopt);
    /// What follows comes from another outlet, whose sequence numbers start afresh.
    void new_segment();

    /// The clock of the stream's host is not known yet: ages from now on wait until it is.
    void await_clock() { clock_awaited_ = true; }
    bool awaits_clock() const noexcept { return clock_awaited_; }
    /// It is known, or known better. Nothing: it cannot be measured, and counts as ours.
    void clock_is(const std::optional<clock_offset>& measured);
    /// How often the connection was lost and made again.
    std::uint64_t recoveries = 0;
    bool stamps_are_local = false; ///< they are corrected already

    std::uint64_t samples() const noexcept { return samples_; }
    std::uint64_t dropped() const noexcept { return dropped_; }
    std::uint64_t segments() const noexcept { return segments_; }
    /// After the last sample received, or known to be lost.
    std::uint64_t next_sequence() const noexcept { return expected_.value_or(0); }
    const std::vector<gap>& gaps() const noexcept { return gaps_; }
    /// Of the samples received after the first chunk; nothing before there are any.
    std::optional<double> rate_hz() const;
    /// Samples a second since the last call.
    double recent_rate_hz(double now);
    /// Mean age since the last call; nothing when none is known.
    std::optional<double> recent_age_ms();
    const std::optional<clock_offset>& clock() const noexcept { return clock_; }

    /// Adds the summary's fields to an open object. @param end why it is over: "count", "ended", "signal", ...
    void to_json(json_writer& json, std::string_view end) const;
    std::string to_text(std::string_view end) const;

private:
    gap lose(std::uint64_t first_sequence, std::uint64_t count);
    double dropped_percent() const;
    void add_age(double uncorrected, std::uint64_t sequence);
    void add_waiting_ages();

    std::uint64_t samples_ = 0;
    std::uint64_t repeated_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t gap_count_ = 0;
    std::uint64_t segments_ = 1;
    std::vector<gap> gaps_;
    std::optional<std::uint64_t> seq_first_;
    std::optional<std::uint64_t> seq_last_;
    std::optional<std::uint64_t> expected_;
    std::uint64_t first_chunk_ = 0;
    double first_arrival_ = 0;
    double last_arrival_ = 0;
    std::uint64_t recent_samples_ = 0;
    double recent_at_ = 0;
    age_histogram ages_;
    double recent_ages_ = 0; ///< sum of seconds
    std::uint64_t recent_age_count_ = 0;
    std::optional<clock_offset> clock_;
    double correction_ = 0; ///< to be added to stamps
    bool clock_awaited_ = false;
    std::vector<std::pair<double, std::uint64_t>> waiting_ages_; ///< uncorrected; sequence numbers
};

} // namespace rivulet::tools
