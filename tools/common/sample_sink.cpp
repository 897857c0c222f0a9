#include "common/sample_sink.hpp"

#include "common/base64.hpp"
#include "common/batch.hpp"
#include "common/csv.hpp"
#include "common/json.hpp"
#include "common/output_file.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>
#include <rivulet/frames.hpp>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <iterator>

namespace rivulet::tools {
namespace {

/// Loads from any alignment.
template<class T>
T value_at(std::span<const std::byte> values, std::size_t index) {
    T value;
    std::memcpy(&value, values.data() + index * sizeof(T), sizeof value);
    return value;
}

/// Without an exponent, and to the last digit.
void append_unix_seconds(std::string& out, std::int64_t ns) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t whole = ns / second;
    const std::int64_t rest = std::abs(ns % second);
    fmt::format_to(std::back_inserter(out), "{}{}.{:09}", ns < 0 && whole == 0 ? "-" : "", whole, rest);
}

void append_iso(std::string& out, std::int64_t ns) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t rest = (ns % second + second) % second;
    const std::time_t seconds = static_cast<std::time_t>((ns - rest) / second);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", utc.tm_year + 1900,
                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, rest);
}

void append_stamp(std::string& out, const received_chunk& chunk, std::size_t sample, stamp_format format, bool json) {
    switch (format) {
    case stamp_format::seconds:
        return json ? append_json_number(out, chunk.stamps[sample]) : append_number(out, chunk.stamps[sample]);
    case stamp_format::unix: return append_unix_seconds(out, chunk.unix_ns[sample]);
    case stamp_format::iso:
        if (json)
            out += '"';
        append_iso(out, chunk.unix_ns[sample]);
        if (json)
            out += '"';
    }
}

void check_shape(const stream_info& info, std::size_t channels, channel_format format, const output_file& file) {
    if (info.channel_count != channels || info.format != format)
        throw error(errc::format_mismatch,
                    fmt::format("'{}' comes back with another shape ({} channels of {}): '{}' cannot hold both",
                                info.name, info.channel_count, to_string(info.format), file.path()));
}

class csv_sink final : public sample_sink {
public:
    csv_sink(const sink_options& options, output_file& file)
        : sequence_(options.sequence), stamps_(options.stamps), file_(file) {}

    void begin(const stream_info& info) override {
        if (begun_)
            check_shape(info, channels_, format_, file_);
        format_ = info.format;
        channels_ = static_cast<std::size_t>(info.channel_count);
        if (std::exchange(begun_, true))
            return;
        std::string& out = file_.buffer();
        out += sequence_ ? "stamp,sequence" : "stamp";
        for (std::size_t c = 0; c < channels_; ++c) {
            out += ',';
            const auto label = info.label(c);
            append_csv_field(out, label.empty() ? fmt::format("ch{}", c) : std::string(label));
        }
        out += '\n';
        file_.written();
    }

    void write(const received_chunk& chunk) override {
        if (is_fixed_size(format_))
            with_value_type(format_, [&]<class T>(T) {
                rows(chunk, [&](std::string& out, std::size_t i) { append_number(out, value_at<T>(chunk.values, i)); });
            });
        else if (format_ == channel_format::string)
            rows(chunk, [&](std::string& out, std::size_t i) { append_csv_field(out, chunk.texts[i]); });
        else
            rows(chunk, [&](std::string& out, std::size_t i) { append_base64(out, chunk.texts[i]); });
    }

    void end(std::uint64_t) override {}

private:
    template<class Append>
    void rows(const received_chunk& chunk, Append append_value) {
        std::string& out = file_.buffer();
        for (std::size_t s = 0; s < chunk.samples; ++s) {
            append_stamp(out, chunk, s, stamps_, false);
            if (sequence_) {
                out += ',';
                append_number(out, chunk.first_sequence + s);
            }
            for (std::size_t c = 0; c < channels_; ++c) {
                out += ',';
                append_value(out, s * channels_ + c);
            }
            out += '\n';
            file_.written();
        }
    }

    bool sequence_;
    stamp_format stamps_;
    output_file& file_;
    bool begun_ = false;
    channel_format format_{};
    std::size_t channels_ = 0;
};

class jsonl_sink final : public sample_sink {
public:
    jsonl_sink(const sink_options& options, output_file& file) : options_(options), file_(file) {}

    void begin(const stream_info& info) override {
        format_ = info.format;
        channels_ = static_cast<std::size_t>(info.channel_count);
        head_.assign(1, '{'); // g++ 12 warns of a bug of its own at = "{"
        if (options_.name_stream) {
            head_ += "\"name\":";
            append_json_string(head_, info.name);
            head_ += ",\"uid\":";
            append_json_string(head_, info.uid);
            head_ += ',';
        }
        head_ += "\"stamp\":";
    }

    void write(const received_chunk& chunk) override {
        if (is_fixed_size(format_))
            with_value_type(format_, [&]<class T>(T) {
                rows(chunk,
                     [&](std::string& out, std::size_t i) { append_json_number(out, value_at<T>(chunk.values, i)); });
            });
        else if (format_ == channel_format::string)
            rows(chunk, [&](std::string& out, std::size_t i) { append_json_string(out, chunk.texts[i]); });
        else
            rows(chunk, [&](std::string& out, std::size_t i) {
                out += '"';
                append_base64(out, chunk.texts[i]);
                out += '"';
            });
    }

    void end(std::uint64_t) override {}

private:
    template<class Append>
    void rows(const received_chunk& chunk, Append append_value) {
        std::string& out = file_.buffer();
        for (std::size_t s = 0; s < chunk.samples; ++s) {
            out += head_;
            append_stamp(out, chunk, s, options_.stamps, true);
            if (options_.sequence) {
                out += ",\"sequence\":";
                append_number(out, chunk.first_sequence + s);
            }
            out += ",\"values\":";
            for (std::size_t c = 0; c < channels_; ++c) {
                out += c == 0 ? '[' : ',';
                append_value(out, s * channels_ + c);
            }
            out += "]}\n";
            file_.written();
        }
    }

    sink_options options_;
    output_file& file_;
    std::string head_;
    channel_format format_{};
    std::size_t channels_ = 0;
};

void append_bytes(std::string& out, std::span<const std::byte> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class raw_sink final : public sample_sink {
public:
    explicit raw_sink(output_file& file) : file_(file) {}

    void begin(const stream_info& info) override {
        if (!is_fixed_size(info.format))
            throw error(errc::format_mismatch,
                        fmt::format("'{}' is a stream of {}s, which raw output cannot hold: use csv, jsonl or frames",
                                    info.name, to_string(info.format)));
        if (begun_)
            check_shape(info, channels_, format_, file_);
        begun_ = true;
        format_ = info.format;
        channels_ = static_cast<std::size_t>(info.channel_count);
    }
    void write(const received_chunk& chunk) override {
        append_bytes(file_.buffer(), chunk.values);
        file_.written();
    }
    void end(std::uint64_t) override {}

private:
    output_file& file_;
    bool begun_ = false;
    channel_format format_{};
    std::size_t channels_ = 0;
};

class frames_sink final : public sample_sink {
public:
    explicit frames_sink(output_file& file) : file_(file) {}

    void begin(const stream_info& info) override {
        fixed_ = is_fixed_size(info.format);
        writer_.begin(record_, info);
        take();
    }
    void write(const received_chunk& chunk) override {
        fixed_ ? writer_.data(record_, chunk.first_sequence, chunk.values, chunk.stamps)
               : writer_.data(record_, chunk.first_sequence, chunk.texts, chunk.stamps);
        take();
    }
    void clock(const clock_record& measured) override {
        writer_.clock(record_, measured);
        take();
    }
    void end(std::uint64_t next_sequence) override {
        writer_.end(record_, next_sequence, local_clock());
        take();
    }

private:
    void take() {
        append_bytes(file_.buffer(), record_);
        record_.clear();
        file_.written();
    }

    output_file& file_;
    frame_writer writer_;
    std::vector<std::byte> record_;
    bool fixed_ = true;
};

class no_sink final : public sample_sink {
public:
    void begin(const stream_info&) override {}
    void write(const received_chunk&) override {}
    void end(std::uint64_t) override {}
};

} // namespace

std::unique_ptr<sample_sink> make_sink(const sink_options& options, output_file* file) {
    switch (options.format) {
    case output_format::csv: return std::make_unique<csv_sink>(options, *file);
    case output_format::jsonl: return std::make_unique<jsonl_sink>(options, *file);
    case output_format::raw: return std::make_unique<raw_sink>(*file);
    case output_format::frames: return std::make_unique<frames_sink>(*file);
    case output_format::none: break;
    }
    return std::make_unique<no_sink>();
}

} // namespace rivulet::tools
