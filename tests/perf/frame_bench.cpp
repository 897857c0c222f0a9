#include <wire/frame.hpp>

#include <allocation_counter.hpp>

#include <array>
#include <benchmark/benchmark.h>
#include <vector>

// What a frame costs beside its payload. Compare lines of one run, not of two machines.

namespace rivulet::wire {
namespace {

/// Reports the allocations of an iteration; they are part of the promise for data frames.
void report_allocations(benchmark::State& state, const test::allocation_counter& counter) {
    state.counters["allocations"] =
        benchmark::Counter(static_cast<double>(counter.count()), benchmark::Counter::kAvgIterations);
}

std::vector<stamp_run> make_runs(std::size_t count) {
    std::vector<stamp_run> runs;
    for (std::size_t i = 0; i < count; ++i)
        runs.push_back({.count = 100, .ahead = 99, .base = 1000.0 + static_cast<double>(i) * 0.1003});
    return runs;
}

/// A data frame's head with this many runs (0: with a column of 1000 stamps).
class head_of {
public:
    explicit head_of(std::size_t runs) : runs_(make_runs(runs)), column_(runs == 0 ? 1000 : 0, 1000.25) {}

    data_header header() const {
        return {.first_sequence = 123'456'789,
                .count = static_cast<std::uint32_t>(runs_.empty() ? column_.size() : 100 * runs_.size()),
                .runs = runs_,
                .column = column_,
                .payload_bytes = 120'000};
    }
    std::vector<std::byte> encoded() const {
        std::vector<std::byte> buffer(data_head_capacity(runs_.size()));
        const data_head parts = encode_data_head(header(), buffer);
        std::vector<std::byte> all;
        for (const bytes_view part : {parts.head, parts.column, parts.tail})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }

private:
    std::vector<stamp_run> runs_;
    std::vector<double> column_;
};

void encode_head(benchmark::State& state) {
    const head_of subject(static_cast<std::size_t>(state.range(0)));
    const data_header header = subject.header();
    std::array<std::byte, data_head_capacity(max_stamp_runs)> buffer;
    const test::allocation_counter counter;
    for (auto _ : state)
        benchmark::DoNotOptimize(encode_data_head(header, buffer));
    report_allocations(state, counter);
}
BENCHMARK(encode_head)->ArgName("runs")->Arg(1)->Arg(0)->Arg(10)->Arg(128);

void parse_head(benchmark::State& state) {
    const auto head = head_of(static_cast<std::size_t>(state.range(0))).encoded();
    const std::vector<std::byte> body(120'000);
    data_parser parser;
    data_view view;
    const test::allocation_counter counter;
    for (auto _ : state) {
        benchmark::DoNotOptimize(parser.parse(head, body, view));
        benchmark::DoNotOptimize(view);
    }
    report_allocations(state, counter);
}
BENCHMARK(parse_head)->ArgName("runs")->Arg(1)->Arg(0)->Arg(10)->Arg(128);

void expand_stamps(benchmark::State& state) {
    const auto count = static_cast<std::uint32_t>(state.range(0));
    const stamp_run run{.count = count, .ahead = count - 1, .base = 1000.25};
    std::vector<double> stamps(count);
    for (auto _ : state) {
        expand_run(run, 30'000.0, stamps.data());
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(expand_stamps)->Arg(1)->Arg(30)->Arg(10'000);

void swap_values(benchmark::State& state) {
    const auto width = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> from(120'000 + 1);
    std::vector<std::byte> to(120'000);
    for (auto _ : state) {
        copy_swapped(to.data(), from.data() + 1, to.size() / width, width);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(to.size()));
}
BENCHMARK(swap_values)->ArgName("width")->Arg(1)->Arg(2)->Arg(4)->Arg(8);

void parse_strings(benchmark::State& state) {
    const auto values = static_cast<std::uint32_t>(state.range(0));
    std::vector<std::uint32_t> offsets;
    for (std::uint32_t i = 0; i <= values; ++i)
        offsets.push_back(10 * i);
    std::vector<std::byte> payload(4 * (values + 1) + 10 * values);
    std::memcpy(payload.data(), offsets.data(), 4 * offsets.size());
    text_payload text;
    for (auto _ : state)
        benchmark::DoNotOptimize(text_payload::parse(payload, values, std::endian::native, text));
    state.SetItemsProcessed(state.iterations() * values);
}
BENCHMARK(parse_strings)->Arg(1)->Arg(1000);

void decode_info_of_channels(benchmark::State& state) {
    info_frame frame;
    frame.info = {.name = "EEG", .channel_count = static_cast<std::uint64_t>(state.range(0))};
    for (std::uint64_t i = 0; i < frame.info.channel_count; ++i)
        frame.info.channel(i).label("ch" + std::to_string(i)).unit("microvolts");
    const auto bytes = encode_info(frame);
    info_frame out;
    for (auto _ : state)
        benchmark::DoNotOptimize(decode_info(bytes, out));
}
BENCHMARK(decode_info_of_channels)->Arg(8)->Arg(1024);

} // namespace
} // namespace rivulet::wire
