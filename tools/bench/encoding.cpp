#include "bench/plans.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/frames.hpp>

#include <bit>
#include <cstring>
#include <msgpack.hpp>
#include <tuple>

/// Frames by the library's public codec (frames.hpp) and by msgpack-c's generic objects, ending in the same values.
namespace rivulet::tools::bench {
namespace {

constexpr double rate_hz = 30000;

struct chunk {
    std::size_t channels, samples;
    std::vector<float> values = std::vector<float>(channels * samples, 0.5f);
    std::vector<double> stamps = make_stamps();

    std::vector<double> make_stamps() const {
        std::vector<double> all;
        for (std::size_t i = 0; i < samples; ++i)
            all.push_back(1000.0 - static_cast<double>(samples - 1 - i) / rate_hz);
        return all;
    }
};

class our_codec {
public:
    explicit our_codec(const chunk& c) {
        const stream_info info{.name = "x", .channel_count = c.channels, .nominal_rate_hz = rate_hz};
        writer_.begin(bytes_, info);
        reader_.feed(bytes_);
        reader_.next();
    }
    std::size_t encode(const chunk& c) {
        bytes_.clear();
        writer_.data(bytes_, ++sequence_, std::as_bytes(std::span(c.values)), c.stamps);
        return bytes_.size();
    }
    float decode() {
        reader_.feed(bytes_);
        reader_.next();
        float last = 0;
        const auto& values = reader_.chunk().values;
        std::memcpy(&last, values.data() + values.size() - sizeof last, sizeof last);
        return last;
    }

private:
    std::vector<std::byte> bytes_;
    frame_writer writer_;
    frame_reader reader_;
    std::uint64_t sequence_ = 0;
};

/// The same frame by msgpack-c: a bin for the payload, decoded into objects, then copied out.
class msgpack_bin {
public:
    explicit msgpack_bin(const chunk& c) : values_(c.values.size()) {}
    std::size_t encode(const chunk& c) {
        buffer_.clear();
        msgpack::packer pack(buffer_);
        pack.pack_array(5);
        pack.pack(1);
        pack.pack(++sequence_);
        pack.pack(static_cast<std::uint32_t>(c.samples));
        pack.pack(c.stamps.back());
        pack.pack_bin(static_cast<std::uint32_t>(c.values.size() * sizeof(float)));
        pack.pack_bin_body(reinterpret_cast<const char*>(c.values.data()),
                           static_cast<std::uint32_t>(c.values.size() * sizeof(float)));
        return buffer_.size();
    }
    float decode() {
        const msgpack::object_handle frame = msgpack::unpack(buffer_.data(), buffer_.size());
        const auto& bin = frame.get().via.array.ptr[4].via.bin;
        std::memcpy(values_.data(), bin.ptr, bin.size);
        return values_.back();
    }

private:
    msgpack::sbuffer buffer_;
    std::vector<float> values_;
    std::uint64_t sequence_ = 0;
};

/// What one writes first: all of it as msgpack's own numbers.
class msgpack_array {
public:
    explicit msgpack_array(const chunk&) {}
    std::size_t encode(const chunk& c) {
        buffer_.clear();
        msgpack::pack(buffer_, std::tie(kind_, ++sequence_, c.stamps, c.values));
        return buffer_.size();
    }
    float decode() {
        const msgpack::object_handle frame = msgpack::unpack(buffer_.data(), buffer_.size());
        frame.get().convert(decoded_);
        return std::get<3>(decoded_).back();
    }

private:
    msgpack::sbuffer buffer_;
    int kind_ = 1;
    std::uint64_t sequence_ = 0;
    std::tuple<int, std::uint64_t, std::vector<double>, std::vector<float>> decoded_;
};

/// Nanoseconds of one call, over calls for about `seconds`.
template<class Call>
double time_call(double seconds, Call call) {
    std::uint64_t calls = 0;
    const double begun = local_clock();
    double at = begun;
    for (; at < begun + seconds; at = local_clock())
        for (int i = 0; i < 16; ++i, ++calls)
            call();
    return (at - begun) / static_cast<double>(calls) * 1e9;
}

template<class Codec>
findings code_frames(std::size_t channels, std::size_t samples, double seconds, const surroundings& around) {
    const auto body = [&](worker_link& link) {
        const chunk c{channels, samples};
        Codec codec(c);
        link.ready();
        link.wait_for_go();
        const double payload = static_cast<double>(c.values.size() * sizeof(float));
        const auto bytes = static_cast<double>(codec.encode(c));
        link.report("bytes", bytes);
        link.report("overhead", bytes / payload - 1);
        link.report("encode_ns", time_call(seconds / 2, [&] { codec.encode(c); }));
        float sum = 0;
        link.report("decode_ns", time_call(seconds / 2, [&] { sum += codec.decode(); }));
        asm volatile("" : : "x"(sum));
    };
    worker process("encoding", body);
    process.wait_ready(around.stop, 60);
    process.go();
    return process.collect(around.stop, 60 + seconds);
}

} // namespace

plan encoding_plan(const bench_options& o, const surroundings& around) {
    plan p{
        .name = "encoding",
        .label_names = {"codec", "channels", "samples"},
        .columns = {{"bytes", "bytes", 1, 7},
                    {"overhead", "overhead %", 100},
                    {"encode_ns", "encode ns", 1, 3, true},
                    {"encode_ratio", "ratio"},
                    {"decode_ns", "decode ns", 1, 3, true},
                    {"decode_ratio", "ratio"}},
        .comparisons = {{"encode_ratio", "encode_ns"}, {"decode_ratio", "decode_ns"}, {"bytes_ratio", "bytes"}},
        .groups = {},
        .notes = {"rivulet: frame_writer and frame_reader, float32, with the length of a record and all stamps decoded",
                  "ratio: to msgpack-bin, the same frame by msgpack-c's generic objects; both copy the payload out"}};
    for (const auto& [channels, samples] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {8, 1}, {64, 10}, {1000, 1}, {1000, 30}}) {
        const auto make = [&, shape = std::pair(channels, samples)](const char* name, auto code) {
            return cell{{name, number_text(shape.first), number_text(shape.second)},
                        [=, seconds = o.seconds, &around] { return code(shape.first, shape.second, seconds, around); }};
        };
        group g;
        g.push_back(make("msgpack-bin", code_frames<msgpack_bin>));
        g.push_back(make("rivulet", code_frames<our_codec>));
        g.push_back(make("msgpack-array", code_frames<msgpack_array>));
        g[1].baseline = g[2].baseline = 0;
        p.groups.push_back(std::move(g));
    }
    return p;
}

} // namespace rivulet::tools::bench
