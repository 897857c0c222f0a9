#include "common/stream_account.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace rivulet::tools {
namespace {

constexpr std::size_t most_waiting_ages = 1 << 16;

} // namespace

gap stream_account::lose(std::uint64_t first_sequence, std::uint64_t count) {
    const gap lost{first_sequence, count};
    dropped_ += count;
    ++gap_count_;
    if (gaps_.size() < max_gaps)
        gaps_.push_back(lost);
    return lost;
}

stream_account::finding stream_account::chunk(std::uint64_t first_sequence, std::uint64_t samples,
                                              std::uint64_t lost_before, double last_stamp, double arrival) {
    finding found;
    std::uint64_t lost = std::min(lost_before, first_sequence);
    if (expected_ && first_sequence > *expected_)
        lost = std::max(lost, first_sequence - *expected_);
    if (lost > 0)
        found.lost = lose(first_sequence - lost, lost);
    if (expected_ && first_sequence < *expected_)
        found.repeated = std::min(samples, *expected_ - first_sequence);
    repeated_ += found.repeated;

    const std::uint64_t last = first_sequence + samples - 1;
    if (samples_ == 0) {
        seq_first_ = first_sequence;
        first_chunk_ = samples;
        first_arrival_ = arrival;
    }
    samples_ += samples;
    seq_last_ = last;
    expected_ = std::max(expected_.value_or(0), last + 1);
    last_arrival_ = arrival;
    if (clock_awaited_ && waiting_ages_.size() < most_waiting_ages)
        waiting_ages_.emplace_back(arrival - last_stamp, last);
    else
        add_age(arrival - last_stamp, last);
    return found;
}

stream_account::finding stream_account::ended(std::uint64_t lost, std::optional<std::uint64_t> end) {
    finding found;
    std::uint64_t from = expected_.value_or(0);
    if (end) {
        lost = std::max(lost, expected_ && *end > *expected_ ? *end - *expected_ : 0);
        if (!expected_)
            from = *end - std::min(lost, *end);
    }
    if (lost > 0) {
        found.lost = lose(from, lost);
        expected_ = from + lost;
    }
    return found;
}

void stream_account::new_segment() {
    ++segments_;
    expected_.reset();
}

void stream_account::clock_is(const std::optional<clock_offset>& measured) {
    clock_ = measured;
    // Clocks that may be the same one are taken for it.
    const bool another = measured && !stamps_are_local && std::abs(measured->offset_s) > measured->uncertainty_s;
    correction_ = another ? measured->offset_s : 0;
    clock_awaited_ = false;
    for (const auto& [age, sequence] : std::exchange(waiting_ages_, {}))
        add_age(age, sequence);
}

void stream_account::add_age(double uncorrected, std::uint64_t sequence) {
    const double age = uncorrected - correction_;
    ages_.add(age, sequence);
    recent_ages_ += age;
    ++recent_age_count_;
}

std::optional<double> stream_account::recent_age_ms() {
    const std::uint64_t count = std::exchange(recent_age_count_, 0);
    const double sum = std::exchange(recent_ages_, 0);
    if (count == 0)
        return std::nullopt;
    return sum / static_cast<double>(count) * 1e3;
}

std::optional<double> stream_account::rate_hz() const {
    if (samples_ == first_chunk_ || last_arrival_ <= first_arrival_)
        return std::nullopt;
    return static_cast<double>(samples_ - first_chunk_) / (last_arrival_ - first_arrival_);
}

double stream_account::recent_rate_hz(double now) {
    const double rate =
        recent_at_ > 0 && now > recent_at_ ? static_cast<double>(samples_ - recent_samples_) / (now - recent_at_) : 0;
    recent_at_ = now;
    recent_samples_ = samples_;
    return rate;
}

double stream_account::dropped_percent() const {
    const auto all = static_cast<double>(samples_ - repeated_ + dropped_);
    return all > 0 ? 100 * static_cast<double>(dropped_) / all : 0;
}

void stream_account::to_json(json_writer& json, std::string_view end) const {
    const auto optional_field = [&](std::string_view key, const auto& value) {
        value ? json.field(key, *value) : json.null(key);
    };
    json.field("name", name).field("uid", uid).field("source_id", source_id).field("link", link);
    json.field("samples", samples_);
    optional_field("seq_first", seq_first_);
    optional_field("seq_last", seq_last_);
    json.field("dropped", dropped_).field("dropped_pct", dropped_percent()).field("repeated", repeated_);
    json.begin_array("gaps");
    for (const gap& g : gaps_)
        json.begin_object().field("first_seq", g.first_seq).field("count", g.count).end_object();
    json.end_array().field("gaps_not_listed", gap_count_ - gaps_.size()).field("segments", segments_);
    json.field("recoveries", recoveries);
    optional_field("rate_hz", rate_hz());

    json.begin_object("age_ms");
    if (ages_.count() > 0)
        json.field("mean", ages_.mean_ms())
            .field("p50", ages_.percentile_ms(0.5))
            .field("p99", ages_.percentile_ms(0.99))
            .field("max", ages_.max_ms())
            .field("max_at_seq", ages_.max_at_sequence());
    else
        json.null("mean").null("p50").null("p99").null("max").null("max_at_seq");
    json.end_object().begin_object("age_hist");
    static constexpr const char* classes[] = {"le_0_5", "le_1", "le_5", "le_10", "gt_10"};
    for (std::size_t i = 0; i < 5; ++i)
        json.field(classes[i], ages_.classes()[i]);
    json.end_object();
    if (clock_)
        json.begin_object("clock")
            .field("offset_s", clock_->offset_s)
            .field("uncertainty_s", clock_->uncertainty_s)
            .field("rtt_s", clock_->rtt_s)
            .end_object();
    else
        json.null("clock");
    json.field("end", end);
}

std::string stream_account::to_text(std::string_view end) const {
    std::string out = fmt::format("{} ({}, {}): {} samples", name, uid, link, samples_);
    if (seq_first_)
        out += fmt::format(" [{}..{}]", *seq_first_, *seq_last_);
    out += fmt::format(", dropped {} ({:.3g} %)", dropped_, dropped_percent());
    if (repeated_ > 0)
        out += fmt::format(", repeated {}", repeated_);
    if (gap_count_ > 0)
        out += fmt::format(", {} gaps from {}", gap_count_, gaps_.front().first_seq);
    if (segments_ > 1)
        out += fmt::format(", {} segments", segments_);
    if (recoveries > 0)
        out += fmt::format(", {} recoveries", recoveries);
    if (const auto rate = rate_hz())
        out += fmt::format(", {:.6g} Hz", *rate);
    if (ages_.count() > 0) {
        const auto& c = ages_.classes();
        out +=
            fmt::format(", age ms mean {:.3f} p50 {:.3f} p99 {:.3f} max {:.3f} at {}", ages_.mean_ms(),
                        ages_.percentile_ms(0.5), ages_.percentile_ms(0.99), ages_.max_ms(), ages_.max_at_sequence());
        out += fmt::format(", ages <=0.5:{} <=1:{} <=5:{} <=10:{} >10:{}", c[0], c[1], c[2], c[3], c[4]);
    }
    if (clock_)
        out += fmt::format(", clock offset {:+.6f} s +- {:.3f} ms (rtt {:.3f} ms)", clock_->offset_s,
                           clock_->uncertainty_s * 1e3, clock_->rtt_s * 1e3);
    else if (ages_.count() > 0)
        out += ", clock offset unknown";
    return out + fmt::format("; {}", end);
}

} // namespace rivulet::tools
