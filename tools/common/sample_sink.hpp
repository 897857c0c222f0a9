#pragma once

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
};

enum class output_format { csv, jsonl, raw, frames, none };

struct sink_options {
    output_format format = output_format::csv;
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
    /// The stream ended. @param next_sequence after its last sample.
    virtual void end(std::uint64_t next_sequence) = 0;
};

/// `file` is to outlive the sink; unused for output_format::none.
std::unique_ptr<sample_sink> make_sink(const sink_options& options, output_file* file);

} // namespace rivulet::tools
