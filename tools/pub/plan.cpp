#include "pub/plan.hpp"

#include "common/csv.hpp"
#include "common/file_sources.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace rivulet::tools {
namespace {

constexpr std::size_t unpaced_chunk_bytes = 64 * 1024;

std::string input_name(const std::string& path) {
    const std::string stem = path == "-" ? "stdin" : std::filesystem::path(path).stem().string();
    return stem.empty() ? "file" : stem;
}

/// Labels from "a,b,c" (quoted as in CSV) or from a file with one a line.
std::vector<std::string> read_labels(const std::string& list, const stop_condition& stop) {
    std::vector<std::string> labels;
    if (list.starts_with('@')) {
        lines_source lines(std::make_unique<input_file>(list.substr(1), stop));
        batch lines_read;
        while (lines.next(1024, lines_read))
            for (std::string& line : lines_read.texts) {
                if (line.ends_with('\r'))
                    line.pop_back();
                labels.push_back(std::move(line));
            }
        return labels;
    }
    csv_reader reader;
    reader.feed(list);
    reader.finish();
    std::vector<std::string_view> fields;
    if (reader.next(fields))
        labels.assign(fields.begin(), fields.end());
    return labels;
}

void label_channels(stream_info& info, const std::vector<std::string>& labels, std::string_view origin) {
    if (labels.size() != info.channel_count)
        throw usage_error(fmt::format("{}: {} labels for {} channels", origin, labels.size(), info.channel_count));
    for (std::size_t c = 0; c < labels.size(); ++c)
        info.channel(c).label(labels[c]);
}

void describe(stream_info& info, const pub_options& o, const stop_condition& stop) {
    if (o.name)
        info.name = *o.name;
    if (o.type)
        info.type = *o.type;
    if (o.source_id)
        info.source_id = *o.source_id;
    if (o.rate_hz)
        info.nominal_rate_hz = *o.rate_hz;
    if (o.channel_labels)
        label_channels(info, read_labels(*o.channel_labels, stop), "--channel-labels");
    if (o.unit)
        for (std::uint64_t c = 0; c < info.channel_count; ++c)
            info.channel(c).unit(*o.unit);
    for (const auto& [key, value] : o.metadata)
        info.desc.at_path(key).value(value);
}

void plan_generator(pub_plan& plan, const pub_options& o, const stop_condition& stop) {
    plan.info.name = "Demo";
    plan.info.format = o.format.value_or(channel_format::float32);
    plan.info.channel_count = o.channels.value_or(is_fixed_size(plan.info.format) ? 8 : 1);
    plan.info.nominal_rate_hz = 250;
    describe(plan.info, o, stop);
    validate(plan.info);
    const auto shape = is_fixed_size(plan.info.format) ? signal_shape::sine : signal_shape::counter;
    plan.source = std::make_unique<generator>(plan.info, o.signal.value_or(shape), o.seed);
}

void plan_csv(pub_plan& plan, const pub_options& o, std::unique_ptr<input_file> input) {
    plan.info.format = o.format.value_or(channel_format::float64);
    auto source = std::make_unique<csv_source>(std::move(input), plan.info.format);
    const auto& labels = source->labels();
    plan.info.channel_count = labels.size();
    if (o.channels && *o.channels != labels.size())
        throw usage_error(
            fmt::format("--channels {}: the header of '{}' names {}", *o.channels, *o.input, labels.size()));
    bool named = false;
    for (std::size_t c = 0; c < labels.size(); ++c)
        named |= labels[c] != fmt::format("ch{}", c);
    if (named)
        label_channels(plan.info, labels, *o.input);
    plan.source = std::move(source);
}

void plan_input(pub_plan& plan, const pub_options& o, const stop_condition& stop) {
    auto input = std::make_unique<input_file>(*o.input, stop);
    plan.info.name = input_name(*o.input);
    plan.full = on_full::wait;
    switch (o.input_as.value_or(input_format::csv)) {
    case input_format::csv: plan_csv(plan, o, std::move(input)); break;
    case input_format::raw:
        plan.info.format = o.format.value_or(channel_format::float32);
        plan.info.channel_count = o.channels.value_or(1);
        plan.source = std::make_unique<raw_source>(std::move(input), plan.info.sample_bytes());
        break;
    case input_format::lines:
        plan.info.format = channel_format::string;
        plan.source = std::make_unique<lines_source>(std::move(input));
        break;
    case input_format::frames: {
        auto source = std::make_unique<frames_source>(std::move(input));
        plan.info = source->info();
        plan.info.uid.clear(); // the replay is a stream of its own
        plan.info.host.clear();
        plan.info.created_at = 0;
        plan.source = std::move(source);
        break;
    }
    }
    describe(plan.info, o, stop);
    validate(plan.info);
}

} // namespace

pub_plan make_plan(const pub_options& o, const stop_condition& stop) {
    pub_plan plan;
    o.input ? plan_input(plan, o, stop) : plan_generator(plan, o, stop);
    plan.full = o.full.value_or(plan.full);
    const double rate = plan.info.nominal_rate_hz;
    if (rate > 0 && o.interval_s)
        throw usage_error("--interval is for irregular streams (--rate 0)");
    if (rate == 0 && o.buffer && std::holds_alternative<std::chrono::nanoseconds>(*o.buffer))
        throw usage_error(
            "--buffer of an irregular stream is a size, as in 16MiB: its seconds hold no known number of samples");

    const bool arrival = o.input && !o.interval_s && rate == 0; // a file is pushed as it is read
    if (o.unpaced || arrival) {
        const std::size_t sample_bytes = std::max<std::size_t>(plan.info.sample_bytes(), 1);
        plan.chunk = std::clamp<std::size_t>(unpaced_chunk_bytes / sample_bytes, 1, 1000);
        if (o.input_as == input_format::lines)
            plan.chunk = 1;
        plan.chunk = static_cast<std::size_t>(o.chunk.value_or(plan.chunk));
        return plan;
    }
    plan.chunk = static_cast<std::size_t>(o.chunk.value_or(std::max(1.0, std::ceil(rate / 1000))));
    plan.pace_hz = rate > 0 ? rate : static_cast<double>(plan.chunk) / o.interval_s.value_or(1.0);
    return plan;
}

} // namespace rivulet::tools
