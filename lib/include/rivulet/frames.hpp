#pragma once

#include <rivulet/channel_format.hpp>
#include <rivulet/clock.hpp>
#include <rivulet/export.hpp>
#include <rivulet/stream_info.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// Captures: a stream as a file of frames, in the wire's own format. A capture is the eight bytes `capture_magic`, then
/// records: a big-endian uint32 length, and a frame of that many bytes (lib/wire/FORMAT.md). The first frame is an info
/// frame; more of them begin new segments; data frames follow, and among them what was measured of the clock that their
/// stamps are of; frames of unknown kinds are passed over. A capture can be cut anywhere and is readable up to its last
/// whole record. Pure functions over bytes: no I/O, no threads.
namespace rivulet {

inline constexpr char capture_magic[8] = {'R', 'I', 'V', 'U', 'L', 'E', 'T', '1'};

namespace detail {
class frame_reader_impl;
}

/// Makes the bytes of a capture, which the caller appends to a file.
class RIVULET_API frame_writer {
public:
    /// Begins the capture, or within it a new segment. @param first_sequence of the first sample to come, if known.
    void begin(std::vector<std::byte>& out, const stream_info& info, std::uint64_t first_sequence = 0);
    /// One chunk of a fixed-size format: multiplexed values in this host's byte order.
    /// @throws error shape_mismatch: values or stamps are not `samples` many; closed: begin was not called.
    void data(std::vector<std::byte>& out, std::uint64_t first_sequence, std::span<const std::byte> values,
              std::span<const double> stamps);
    /// One chunk of strings or blobs. @throws also limit_exceeded: 4 GiB or more.
    void data(std::vector<std::byte>& out, std::uint64_t first_sequence, std::span<const std::string> values,
              std::span<const double> stamps);
    /// A measurement of the clock that the stamps are of, by the clock of whoever writes the capture.
    /// @throws error closed: begin was not called; invalid_argument: a number in it is not finite.
    void clock(std::vector<std::byte>& out, const clock_record& measured);
    /// The stream ended. @param next_sequence after its last sample. @param at local_clock().
    void end(std::vector<std::byte>& out, std::uint64_t next_sequence, double at);

private:
    void data_record(std::vector<std::byte>& out, std::uint64_t first_sequence, std::span<const double> stamps,
                     std::size_t payload_bytes);

    bool begun_ = false;
    std::uint64_t channels_ = 0;
    std::size_t sample_bytes_ = 0; ///< 0: strings or blobs
    double rate_hz_ = 0;
};

/// Reads a capture from pieces of any size.
class RIVULET_API frame_reader {
public:
    enum class item : std::uint8_t {
        more,  ///< feed more
        info,  ///< a segment begins: info() is new
        data,  ///< chunk() is new
        end,   ///< the stream ended
        clock, ///< clock() is new; captures of earlier versions have none
    };
    struct data_chunk {
        std::uint64_t first_sequence = 0;
        std::size_t samples = 0;
        std::vector<double> stamps;     ///< one a sample
        std::vector<std::byte> values;  ///< fixed-size formats: multiplexed, in this host's byte order
        std::vector<std::string> texts; ///< strings and blobs
    };

    /// @param max_frame longest frame accepted, bytes.
    explicit frame_reader(std::size_t max_frame = std::size_t{65} << 20);
    ~frame_reader();
    frame_reader(frame_reader&&) noexcept;
    frame_reader& operator=(frame_reader&&) noexcept;

    void feed(std::span<const std::byte> bytes);
    /// Goes on to the next item. @throws error bad_frame: no capture, or a damaged one, naming the byte offset.
    item next();
    /// Bytes fed that make no whole record yet.
    std::size_t pending_bytes() const noexcept;

    const stream_info& info() const noexcept;
    /// Valid until the next call of next; the vectors may be swapped out.
    data_chunk& chunk() noexcept;
    /// The latest measurement of the clock that the stamps are of.
    const clock_record& clock() const noexcept;

private:
    std::unique_ptr<detail::frame_reader_impl> impl_;
};

} // namespace rivulet
