// Pushing samples into the sample log, beside a deque behind a mutex that does the same job: keeps a bounded history,
// readers have a cursor each and take what has accumulated. Arguments: samples a push, readers. Time is that of the
// pushing thread; `read` is the share of the samples that an average reader got before they were dropped.
#include "samples/sample_log.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace {

using namespace rivulet;

constexpr std::size_t history_bytes = 16u << 20;

template<std::size_t Bytes>
struct item {
    double stamp = 0;
    std::array<std::byte, Bytes> values{};
};

// --- the sample log -------------------------------------------------------------------------------------------------

template<std::size_t Bytes>
class log_queue {
public:
    void push(const std::byte* values, std::size_t count, double stamp) {
        while (count != 0) {
            const samples::sample_log::room room = log_->reserve(samples::sample_log::overflow::drop_oldest);
            if (count == 1) {
                std::memcpy(room.samples, values, Bytes);
                *room.stamps = stamp;
                log_->commit(1);
                return;
            }
            const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(room.count, count));
            std::memcpy(room.samples, values, n * Bytes);
            std::fill_n(room.stamps, n, stamp);
            log_->commit(n);
            values += n * Bytes;
            count -= n;
        }
    }
    void finish() { log_->finish(); }

    /// Reads to the end; returns how many samples it got.
    std::uint64_t read() {
        struct sleeper : samples::log_waiter {
            void wake() noexcept override { event.set(); }
            platform::event event;
        } waiter;
        log_->add_waiter(waiter);
        samples::log_reader reader(log_, 0, false);
        std::uint64_t got = 0;
        for (;;) {
            const bool finished = log_->finished();
            if (const samples::log_span span = reader.peek()) {
                benchmark::DoNotOptimize(span.samples());
                got += span.count;
                reader.advance(span.count);
            } else if (finished) {
                break;
            } else if (log_->arm(waiter, reader.position())) {
                waiter.event.wait(platform::time_point::max());
            }
        }
        log_->remove_waiter(waiter);
        return got;
    }

private:
    std::shared_ptr<samples::sample_log> log_ = std::make_shared<samples::sample_log>(samples::log_options{
        .format = channel_format::float32, .channels = Bytes / sizeof(float), .rate_hz = 1000, .bytes = history_bytes});
};

// --- mutex + deque --------------------------------------------------------------------------------------------------

template<std::size_t Bytes>
class locked_queue {
public:
    void push(const std::byte* values, std::size_t count, double stamp) {
        const std::lock_guard lock(mutex_);
        for (; count != 0; --count, values += Bytes) {
            item<Bytes>& added = items_.emplace_back();
            added.stamp = stamp;
            std::memcpy(added.values.data(), values, Bytes);
            if (items_.size() > history_bytes / sizeof(item<Bytes>)) {
                items_.pop_front();
                ++first_;
            }
        }
        if (sleeping_ != 0)
            more_.notify_all();
    }
    void finish() {
        const std::lock_guard lock(mutex_);
        finished_ = true;
        more_.notify_all();
    }
    std::uint64_t read() {
        std::vector<item<Bytes>> taken;
        std::uint64_t got = 0;
        for (std::uint64_t position = 0;;) {
            std::unique_lock lock(mutex_);
            ++sleeping_;
            more_.wait(lock, [&] { return finished_ || first_ + items_.size() > position; });
            --sleeping_;
            position = std::max(position, first_);
            const std::size_t count = std::min<std::size_t>(1000, first_ + items_.size() - position);
            if (count == 0)
                return got;
            const auto at = items_.begin() + static_cast<std::ptrdiff_t>(position - first_);
            taken.assign(at, at + static_cast<std::ptrdiff_t>(count));
            lock.unlock();
            benchmark::DoNotOptimize(taken.data());
            position += count;
            got += count;
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<item<Bytes>> items_;
    std::uint64_t first_ = 0;
    int sleeping_ = 0;
    bool finished_ = false;
};

// --------------------------------------------------------------------------------------------------------------------

template<template<std::size_t> class Queue, std::size_t Bytes>
void push(benchmark::State& state) {
    const auto chunk = static_cast<std::size_t>(state.range(0));
    const auto readers = static_cast<std::size_t>(state.range(1));
    Queue<Bytes> queue;
    std::vector<std::byte> values(chunk * Bytes, std::byte{1});
    std::atomic<std::uint64_t> read{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < readers; ++i)
        threads.emplace_back([&] { read += queue.read(); });
    const std::size_t pushes = chunk == 1 ? 1000 : 1; // an iteration, so that its own cost does not show
    double stamp = 0;
    for (auto _ : state)
        for (std::size_t i = 0; i < pushes; ++i)
            queue.push(values.data(), chunk, stamp += 0.001);
    const auto pushed = static_cast<std::uint64_t>(state.iterations()) * pushes * chunk;
    queue.finish();
    for (std::thread& t : threads)
        t.join();
    state.SetItemsProcessed(static_cast<std::int64_t>(pushed));
    if (readers != 0)
        state.counters["read"] = static_cast<double>(read) / static_cast<double>(pushed * readers);
}

void cases(benchmark::internal::Benchmark* b) {
    for (const int chunk : {1, 1000})
        for (const int readers : {0, 1, 2, 3})
            b->Args({chunk, readers});
    b->ArgNames({"chunk", "readers"})->UseRealTime();
}

BENCHMARK(push<log_queue, 4>)->Name("log/4B")->Apply(cases);
BENCHMARK(push<locked_queue, 4>)->Name("mutex_deque/4B")->Apply(cases);
BENCHMARK(push<log_queue, 8>)->Name("log/8B")->Apply(cases);
BENCHMARK(push<locked_queue, 8>)->Name("mutex_deque/8B")->Apply(cases);
BENCHMARK(push<log_queue, 4000>)->Name("log/4000B")->Apply(cases);
BENCHMARK(push<locked_queue, 4000>)->Name("mutex_deque/4000B")->Apply(cases);

} // namespace
