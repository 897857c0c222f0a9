#include "bench/plans.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#include <boost/lockfree/spsc_queue.hpp>
#define BENCH_HAS_BOOST 1
#endif

/// Queues from one thread to several, each of which gets every item. None loses any: who pushes waits for room.
namespace rivulet::tools::bench {
namespace {

constexpr std::size_t room_bytes = 4u << 20;
constexpr std::size_t taken_at_once = 1000;

/// The sample log, by the API that there is: an outlet within the process, whose inlets read its log itself.
template<std::size_t Bytes>
class log_queue {
public:
    explicit log_queue(std::size_t readers) {
        const context ctx{config{}};
        const stream_info info{.name = "queue", .channel_count = channels, .format = channel_format::int64};
        out_ = std::make_unique<outlet>(info, outlet_options{.endpoints = {"inproc://queue"},
                                                             .full = on_full::wait,
                                                             .buffer = room_bytes,
                                                             .linger = std::chrono::seconds(30),
                                                             .ctx = ctx});
        for (std::size_t i = 0; i < readers; ++i)
            inlets_.push_back(
                std::make_unique<inlet>("inproc://queue", inlet_options{.full = when_full::hold, .ctx = ctx}));
    }
    void push(const std::int64_t* values) { out_->push_sample(std::span(values, channels), stamp_ += 1e-6); }
    void finish() { out_->stop(); }
    /// Until the end; how many items.
    std::uint64_t read(std::size_t reader) {
        std::vector<std::int64_t> values(taken_at_once * channels);
        std::vector<double> stamps(taken_at_once);
        std::uint64_t got = 0;
        for (;;) {
            const auto r = inlets_[reader]->pull_chunk(std::span(values), std::span(stamps));
            if (r.status == pull_status::ended)
                return got;
            got += r.samples;
        }
    }

private:
    static constexpr std::size_t channels = Bytes / sizeof(std::int64_t);
    std::unique_ptr<outlet> out_;
    std::vector<std::unique_ptr<inlet>> inlets_;
    double stamp_ = 0;
};

template<std::size_t Bytes>
struct item {
    double stamp;
    std::int64_t values[Bytes / sizeof(std::int64_t)];
};

/// What one writes first: a deque a reader behind one mutex.
template<std::size_t Bytes>
class locked_queue {
public:
    explicit locked_queue(std::size_t readers) : deques_(readers) {}
    void push(const std::int64_t* values) {
        std::unique_lock lock(mutex_);
        for (auto& items : deques_) {
            room_.wait(lock, [&] { return items.size() < room_bytes / sizeof(item<Bytes>); });
            items.emplace_back().stamp = stamp_;
            std::memcpy(items.back().values, values, Bytes);
        }
        stamp_ += 1e-6;
        more_.notify_all();
    }
    void finish() {
        const std::lock_guard lock(mutex_);
        finished_ = true;
        more_.notify_all();
    }
    std::uint64_t read(std::size_t reader) {
        std::vector<item<Bytes>> taken;
        std::uint64_t got = 0;
        for (auto& items = deques_[reader];;) {
            std::unique_lock lock(mutex_);
            more_.wait(lock, [&] { return finished_ || !items.empty(); });
            if (items.empty())
                return got;
            const auto count = static_cast<std::ptrdiff_t>(std::min(taken_at_once, items.size()));
            taken.assign(items.begin(), items.begin() + count);
            items.erase(items.begin(), items.begin() + count);
            room_.notify_one();
            lock.unlock();
            asm volatile("" : : "r"(taken.data()) : "memory");
            got += taken.size();
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable more_, room_;
    std::vector<std::deque<item<Bytes>>> deques_;
    double stamp_ = 0;
    bool finished_ = false;
};

#ifdef BENCH_HAS_BOOST
/// Boost's lock-free ring, one a reader. It cannot wait: whoever would yields.
template<std::size_t Bytes>
class boost_queue {
public:
    explicit boost_queue(std::size_t readers) {
        for (std::size_t i = 0; i < readers; ++i)
            rings_.push_back(std::make_unique<ring>(room_bytes / sizeof(item<Bytes>)));
    }
    void push(const std::int64_t* values) {
        item_.stamp += 1e-6;
        std::memcpy(item_.values, values, Bytes);
        for (const auto& r : rings_)
            while (!r->push(item_))
                std::this_thread::yield();
    }
    void finish() { finished_ = true; }
    std::uint64_t read(std::size_t reader) {
        std::vector<item<Bytes>> taken(taken_at_once);
        std::uint64_t got = 0;
        for (;;) {
            const bool last = finished_;
            const std::size_t count = rings_[reader]->pop(taken.data(), taken.size());
            got += count;
            asm volatile("" : : "r"(taken.data()) : "memory");
            if (count == 0 && last)
                return got;
            if (count == 0)
                std::this_thread::yield();
        }
    }

private:
    using ring = boost::lockfree::spsc_queue<item<Bytes>>;
    std::vector<std::unique_ptr<ring>> rings_;
    item<Bytes> item_{};
    std::atomic<bool> finished_{false};
};
#endif

template<template<std::size_t> class Queue, std::size_t Bytes>
findings pass_items(std::size_t readers, double seconds, const surroundings& around) {
    const auto body = [&](worker_link& link) {
        Queue<Bytes> queue(readers);
        std::vector<std::uint64_t> read(readers);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < readers; ++i)
            threads.emplace_back([&, i] { read[i] = queue.read(i); });
        const std::vector<std::int64_t> values(Bytes / sizeof(std::int64_t), 1);
        link.ready();
        link.wait_for_go();
        const double begun = local_clock();
        std::uint64_t pushed = 0;
        for (double at = begun; at < begun + seconds; at = local_clock())
            for (int i = 0; i < 64; ++i, ++pushed)
                queue.push(values.data());
        queue.finish();
        std::uint64_t lost = 0;
        for (std::size_t i = 0; i < readers; ++i) {
            threads[i].join();
            lost += pushed - read[i];
        }
        const double items_per_s = static_cast<double>(pushed) / (local_clock() - begun);
        link.report("items_per_s", items_per_s);
        link.report("mb_per_s", items_per_s * Bytes * 1e-6);
        link.report("lost", static_cast<double>(lost));
    };
    worker process("queue", body);
    process.wait_ready(around.stop, 60);
    process.go();
    return process.collect(around.stop, 60 + seconds);
}

template<std::size_t Bytes>
void add_groups(plan& p, const bench_options& o, const surroundings& around) {
    for (const std::size_t readers : {1u, 2u, 3u}) {
        const std::vector<std::string> labels = {number_text(Bytes), number_text(readers)};
        const auto make = [&](const char* name, auto pass, std::optional<std::size_t> baseline) {
            cell c{{name, labels[0], labels[1]},
                   [=, seconds = o.seconds, &around] { return pass(readers, seconds, around); }};
            c.baseline = baseline;
            return c;
        };
        group g;
        g.push_back(make("mutex+deque", pass_items<locked_queue, Bytes>, std::nullopt));
        g.push_back(make("sample-log", pass_items<log_queue, Bytes>, 0));
#ifdef BENCH_HAS_BOOST
        g.push_back(make("boost-spsc", pass_items<boost_queue, Bytes>, 0));
#endif
        p.groups.push_back(std::move(g));
    }
}

} // namespace

plan queue_plan(const bench_options& o, const surroundings& around) {
    plan p{
        .name = "queue",
        .label_names = {"queue", "bytes", "readers"},
        .columns = {{"items_per_s", "items/s", 1, 3, true},
                    {"mb_per_s", "MB/s"},
                    {"rate_ratio", "ratio", 1, 3, true},
                    {"lost", "lost"}},
        .comparisons = {{"rate_ratio", "items_per_s"}},
        .groups = {},
        .notes = {"one thread pushes items one by one, each reader takes all of them, up to 1000 at once; none is lost",
                  "ratio: to mutex+deque"}};
#ifndef BENCH_HAS_BOOST
    p.notes.emplace_back("boost-spsc: not built (Debian: libboost-dev)");
#endif
    add_groups<8>(p, o, around);
    add_groups<4000>(p, o, around);
    return p;
}

} // namespace rivulet::tools::bench
