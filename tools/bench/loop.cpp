#include "bench/distribution.hpp"
#include "bench/pacing.hpp"
#include "bench/plain_sockets.hpp"
#include "bench/plans.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/outlet.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fmt/format.h>
#include <msgpack.hpp>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <sys/socket.h>

/// A control loop: a producer sends a sample, a consumer computes an answer to it and sends that back on the control
/// path. All times are readings of one host's clock, those of the consumer travel with its answer.
namespace rivulet::tools::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto answer_patience = 1s; ///< a round without an answer after that is lost
constexpr auto patience = 30s;

struct answer {
    std::uint64_t sequence = 0;                    ///< of the sample answered
    double pulled = 0, decoded = 0, processed = 0; ///< when
    double command = 0;
    double encoded = 0; ///< when
    MSGPACK_DEFINE(sequence, pulled, decoded, processed, command, encoded)
};
constexpr std::size_t answer_bytes = 1 + 5 + 5 * 9; ///< an array of six; numbers at a fixed width

std::array<std::byte, answer_bytes> encode(const answer& a) {
    std::array<std::byte, answer_bytes> bytes{};
    struct writer {
        std::byte* at;
        void write(const char* data, std::size_t size) {
            std::memcpy(at, data, size);
            at += size;
        }
    } out{bytes.data()};
    msgpack::packer<writer> packer(out);
    packer.pack_array(6);
    packer.pack_fix_uint32(static_cast<std::uint32_t>(a.sequence));
    for (const double value : {a.pulled, a.decoded, a.processed, a.command})
        packer.pack_double(value);
    packer.pack_double(local_clock());
    return bytes;
}

answer decode(std::span<const std::byte> bytes) {
    const auto handle = msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return handle.get().as<answer>();
}

/// What a consumer does with a sample: decodes it to double, and brings its mean to zero.
answer react(std::uint64_t sequence, std::span<const float> sample, double pulled, std::vector<double>& decoded) {
    answer a{.sequence = sequence, .pulled = pulled};
    decoded.assign(sample.begin(), sample.end());
    a.decoded = local_clock();
    a.command = -0.5 * std::accumulate(decoded.begin(), decoded.end(), 0.0) / static_cast<double>(decoded.size());
    a.processed = local_clock();
    return a;
}

/// The producer's end of the rounds.
class rounds {
public:
    explicit rounds(const work& w) : work_(w), values_(w.channels) {}

    /// @param send (values, stamp) @param wait (sequence) whether its answer was given to `answered` in time.
    template<class Send, class Wait>
    void run(worker_link& link, const Send& send, const Wait& wait) {
        const double begun = local_clock();
        const double end = begun + work_.warm_up_s + work_.seconds;
        const double period = work_.rate_hz > 0 ? 1 / work_.rate_hz : 0;
        std::uint64_t lost = 0, measured = 0;
        for (std::uint64_t sequence = 0;; ++sequence) {
            const double due = std::max(begun + static_cast<double>(sequence) * period, next_not_before_);
            if (due >= end && measured > 0)
                break;
            if (local_clock() < due)
                sleep_until(due);
            const double made = local_clock();
            for (std::size_t c = 0; c < values_.size(); ++c)
                values_[c] = static_cast<float>(state_ + std::sin(0.01 * static_cast<double>(sequence + c)));
            send(std::span<const float>(values_), made);
            const double pushed = local_clock();
            const bool in_time = wait(sequence);
            next_not_before_ = local_clock(); // a loop that is late goes on, and does not catch up
            if (due < begun + work_.warm_up_s)
                continue;
            ++measured;
            if (in_time)
                note(made, pushed);
            else
                ++lost;
        }
        link.report("rounds", static_cast<double>(measured));
        link.report("lost", static_cast<double>(lost));
        for (std::size_t i = 0; i < phases_.size(); ++i)
            phases_[i].report(link, names[i]);
    }
    /// What came back; any thread, but before `wait` returns.
    void answered(std::span<const std::byte> bytes, double came) {
        came_ = came;
        answer_ = decode(bytes);
        state_ += 0.01 * answer_.command;
        handled_ = local_clock();
    }
    std::uint64_t last_answered() const noexcept { return answer_.sequence; }

private:
    static constexpr std::array names = {"make", "deliver", "decode", "process", "encode",
                                         "back", "handle",  "total",  "one_way"};

    void note(double made, double pushed) {
        const double sent = std::min(pushed, answer_.pulled); // the consumer may have it before push returns
        const std::array spans = {sent - made,
                                  answer_.pulled - sent,
                                  answer_.decoded - answer_.pulled,
                                  answer_.processed - answer_.decoded,
                                  answer_.encoded - answer_.processed,
                                  came_ - answer_.encoded,
                                  handled_ - came_,
                                  handled_ - made,
                                  answer_.pulled - made};
        for (std::size_t i = 0; i < spans.size(); ++i)
            phases_[i].add(spans[i] * 1e6);
    }

    const work work_;
    std::vector<float> values_;
    double state_ = 0; ///< what the commands act upon
    double next_not_before_ = 0;
    answer answer_;
    double came_ = 0, handled_ = 0;
    std::array<distribution, names.size()> phases_;
};

// --- over Rivulet ---------------------------------------------------------------------------------------------------

void produce(const work& w, bool on_io_thread, const std::string& path, const surroundings& around, worker_link& link) {
    outlet out(
        {.name = "loop", .channel_count = w.channels, .nominal_rate_hz = w.rate_hz, .source_id = own_source_id(0)},
        {.endpoints = {own_endpoint(w.over, path)},
         .mode = w.how == way::sync ? delivery::sync : delivery::async,
         .ctx = context(around.settings)});
    rounds all(w);
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t answers = 0, awaited = 0; // sequence numbers plus one
    const auto on_answer = [&](const control_request& request) -> control_reply {
        const double came = local_clock();
        const std::lock_guard lock(mutex);
        if (request.about_sequence != awaited) // its round was given up
            return {.data = {}, .status = control_status::refused, .text = "too late"};
        all.answered(request.data, came);
        answers = awaited + 1;
        changed.notify_one();
        return {};
    };
    out.on_control(on_answer, on_io_thread ? control_thread::io : control_thread::own);
    link.ready(out.endpoints().front());
    link.wait_for_go();
    if (!out.wait_for_consumers(patience))
        throw std::runtime_error("the inlet did not come");
    all.run(
        link, [&](std::span<const float> values, double stamp) { out.push_sample(values, stamp); },
        [&](std::uint64_t sequence) {
            std::unique_lock lock(mutex);
            const bool in_time = changed.wait_for(lock, answer_patience, [&] { return answers == sequence + 1; });
            awaited = sequence + 1;
            return in_time;
        });
    out.on_control({});
}

void consume(const work& w, const std::string& endpoint, const surroundings& around, worker_link& link) {
    inlet in(endpoint, {.open_timeout = patience, .busy_poll = w.busy_poll, .ctx = context(around.settings)});
    link.ready();
    std::vector<double> decoded;
    while (true) {
        const chunk_view view = in.pull_view(forever, 1);
        const double pulled = local_clock();
        if (view.result().status == pull_status::ended)
            return;
        if (!view)
            continue;
        const std::uint64_t sequence = view.result().first_sequence;
        const auto reply = encode(react(sequence, view.values<float>(), pulled, decoded));
        in.post_control(reply, {.timeout = answer_patience, .about_sequence = sequence},
                        [](const std::optional<control_reply>&) {});
    }
}

// --- over a socket --------------------------------------------------------------------------------------------------

bool receive_answer(int fd, std::span<std::byte> into) {
    return ::recv(fd, into.data(), into.size(), MSG_WAITALL) == static_cast<ssize_t>(into.size());
}

void produce_plainly(const work& w, const std::string& path, worker_link& link) {
    plain_sender sender(w, path);
    link.ready(sender.endpoints());
    link.wait_for_go();
    sender.wait_for_consumers();
    const int fd = sender.peer();
    rounds all(w);
    all.run(
        link, [&](std::span<const float> values, double stamp) { sender.send(0, std::as_bytes(values).data(), stamp); },
        [&](std::uint64_t sequence) {
            std::array<std::byte, answer_bytes> bytes{};
            if (!receive_answer(fd, bytes))
                throw std::runtime_error("plain loop: the consumer is gone");
            all.answered(bytes, local_clock());
            return all.last_answered() == sequence;
        });
    sender.finish();
}

void consume_plainly(const work& w, const std::string& endpoint, worker_link& link) {
    plain_receiver receiver(w, endpoint);
    link.ready();
    std::vector<double> decoded;
    for (std::uint64_t sequence = 0;; ++sequence) {
        const arrival got = receiver.receive();
        const double pulled = local_clock();
        if (got.ended)
            return;
        const std::span sample(reinterpret_cast<const float*>(receiver.payload().data()), w.channels);
        const auto reply = encode(react(sequence, sample, pulled, decoded));
        if (::send(receiver.peer(), reply.data(), reply.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(reply.size()))
            throw std::runtime_error("plain loop: the producer is gone");
    }
}

// --------------------------------------------------------------------------------------------------------------------

findings control_loop(const work& w, bool on_io_thread, const surroundings& around) {
    static int number = 0;
    const std::string path = fmt::format("{}/loop{}.", around.folder, ++number);
    const bool plain = w.how == way::plain;
    worker producer(fmt::format("producer of the loop over {}", to_string(w.over)), [&](worker_link& link) {
        return plain ? produce_plainly(w, path, link) : produce(w, on_io_thread, path, around, link);
    });
    const std::string endpoint = producer.wait_ready(around.stop, 60);
    worker consumer(fmt::format("consumer of the loop over {}", to_string(w.over)), [&](worker_link& link) {
        return plain ? consume_plainly(w, endpoint, link) : consume(w, endpoint, around, link);
    });
    consumer.wait_ready(around.stop, 60);
    producer.go();
    findings found = producer.collect(around.stop, 60 + w.warm_up_s + w.seconds);
    consumer.collect(around.stop, 60);
    if (const double one_way = found["one_way_p50_us"]; one_way > 0)
        found["trip_ratio"] = found["total_p50_us"] / one_way;
    return found;
}

} // namespace

plan loop_plan(const bench_options& o, const surroundings& around) {
    plan p{
        .name = "loop",
        .label_names = {"link", "how", "channels", "hz"},
        .columns = {{"make_p50_us", "make"},
                    {"deliver_p50_us", "deliver"},
                    {"decode_p50_us", "decode"},
                    {"process_p50_us", "process"},
                    {"encode_p50_us", "encode"},
                    {"back_p50_us", "back"},
                    {"handle_p50_us", "handle"},
                    {"total_mean_us", "total mean"},
                    {"total_p50_us", "p50", 1, 3, true},
                    {"total_p99_us", "p99"},
                    {"total_max_us", "max"},
                    {"trip_ratio", "of one-way", 1, 3, true},
                    {"total_ratio", "of plain", 1, 3, true},
                    {"rounds", "rounds"},
                    {"lost", "lost"}},
        .comparisons = {{"total_ratio", "total_p50_us"}, {"total_p99_ratio", "total_p99_us"}},
        .groups = {},
        .notes = {"us, median: a producer makes and pushes a sample (make), it reaches the consumer's pull (deliver), "
                  "is decoded, processed,",
                  "an answer is encoded, reaches the producer's handler (back), is decoded and acted upon (handle); "
                  "total: all of it",
                  "of one-way: the total's median to that from make's begin to the pull's return, in the same "
                  "rounds; of plain: to the same over a socket",
                  "lost: no answer within 1 s; nothing is sent twice. Mean, sigma, min, max, p99 of each phase: "
                  "--json"}};
    const std::vector<mode> quick = {{way::async}}, full = {{way::async}, {way::sync}, {way::async, true}};
    const std::vector<std::uint64_t> channels = {8};
    const std::vector<double> rates = {1000};
    for (const std::uint64_t width : o.channels.value_or(channels))
        for (const double rate : o.rates.value_or(rates))
            for (const carrier link : o.links.value_or(all_links())) {
                work w;
                w.over = link;
                w.channels = width;
                w.rate_hz = rate;
                w.seconds = o.seconds;
                w.warm_up_s = 0.3 * o.seconds;
                w.latency = w.copy_out = true;
                group g;
                const auto add = [&](const std::string& name, bool on_io_thread, std::optional<std::size_t> base) {
                    g.push_back({{to_string(link), name, number_text(width), number_text(w.rate_hz)},
                                 [w, on_io_thread, &around] { return control_loop(w, on_io_thread, around); },
                                 {},
                                 base});
                };
                std::optional<std::size_t> base;
                if (!is_zmq(link)) {
                    w.how = way::plain;
                    add("plain", false, {});
                    base = 0;
                }
                for (const mode& m : o.modes.value_or(o.quick ? quick : full)) {
                    w.how = m.how;
                    w.busy_poll = m.spin ? std::chrono::milliseconds(2) : std::chrono::milliseconds(0);
                    for (const bool on_io_thread : {false, true})
                        add(to_string(m) + (on_io_thread ? "/io" : ""), on_io_thread, base);
                }
                p.groups.push_back(std::move(g));
            }
    return p;
}

} // namespace rivulet::tools::bench
