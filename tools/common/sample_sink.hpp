#pragma once

#include <rivulet/clock.hpp>
#include <rivulet/stream_info.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rivulet::tools {

class output_file;

/// Samples as stream-sub pulled them. Exactly one of values and texts is used, by the stream's format.
struct received_chunk {
    std::uint64_t first_sequence = 0;
    std::size_t samples = 0;
    std::span<const std::byte> values;  ///< multiplexed, in this host's byte order
    std::span<const std::string> texts; ///< multiplexed
    std::span<const double> stamps;     ///< one a sample
    /// The same as nanoseconds since the Unix epoch, for sink_options::stamps other than seconds.
    std::span<const std::int64_t> unix_ns{};
};

/// How csv and jsonl write stamps.
enum class stamp_format {
    seconds, ///< of whatever clock they are of
    unix,    ///< seconds since the Unix epoch, to the nanosecond
    iso      ///< RFC 3339 in UTC, to the nanosecond
};

enum class output_format { csv, jsonl, raw, frames, none };

struct sink_options {
    output_format format = output_format::csv;
    stamp_format stamps = stamp_format::seconds;
    bool sequence = false;    ///< csv, jsonl: adds the sequence number
    bool name_stream = false; ///< jsonl: adds the stream's name and uid, where several share a file
};

/// Turns the samples of one stream into the text or bytes of a file.
class sample_sink {
public:
    virtual ~sample_sink() = default;
    /// The stream begins, or a new segment of it. @throws rivulet::error format_mismatch: a format that cannot hold
    /// this stream.
    virtual void begin(const stream_info& info) = 0;
    virtual void write(const received_chunk& chunk) = 0;
    /// What was measured of the clock of the stream's host; most formats have no place for it.
    virtual void clock(const clock_record&) {}
    /// The stream ended. @param next_sequence after its last sample.
    virtual void end(std::uint64_t next_sequence) = 0;
};

/// `file` is to outlive the sink; unused for output_format::none.
std::unique_ptr<sample_sink> make_sink(const sink_options& options, output_file* file);

} // namespace rivulet::tools
