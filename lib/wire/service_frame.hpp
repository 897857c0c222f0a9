#pragma once

#include "data_frame.hpp"
#include "frame_kind.hpp"

#include <rivulet/control.hpp>
#include <rivulet/outlet.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Requests and replies of the service (FORMAT.md, "Requests").
namespace rivulet::wire {

enum class service_op : std::uint8_t { info, time, replay, control, stats };
std::string_view to_string(service_op op) noexcept;

inline constexpr std::size_t max_request_bytes = max_control_bytes + 4096;

/// What is asked. Only the fields of its op are sent.
struct service_request {
    std::uint64_t id = 0;
    service_op op = service_op::info;
    std::string uid{}; ///< of the outlet; at most 64 bytes
    double t1 = 0;     ///< time: local_clock() of the asker
    std::uint64_t from = 0;
    std::uint64_t to = 0;                 ///< replay: samples from .. to - 1
    std::string consumer{};               ///< control: the asker's consumer id, at most 64 bytes
    std::string name{};                   ///< control: the asker's name, at most 64 bytes
    double sent_at = 0;                   ///< control
    std::optional<std::uint64_t> about{}; ///< control
    bytes_view data{};                    ///< control; points into the frame
};

/// @throws error limit_exceeded: data beyond max_control_bytes.
std::vector<std::byte> encode_request(const service_request& request);

enum class request_error : std::uint8_t {
    none,
    no_request, ///< not even an id to answer to
    malformed,
    unknown_op
};
/// `out.id` is set unless the result is no_request; the rest is only when it is none.
request_error decode_request(bytes_view frame, service_request& out);

enum class reply_status : std::uint8_t {
    ok = 0,
    malformed = 1,      ///< the request breaks a rule of the format
    unknown_op = 2,     ///< of a later version
    unknown_stream = 3, ///< no outlet of that uid is served here (any more)
    unavailable = 4,    ///< this outlet does not offer that: no handler, no history
    busy = 5,
    failed = 6, ///< the handler threw
    refused = 7 ///< the handler said no
};

/// What was answered. Views point into the frame. What an op does not give keeps its default.
struct service_reply {
    std::uint64_t id = 0;
    reply_status status = reply_status::ok;
    std::string_view text{}; ///< the reason, where status is not ok
    double t1 = 0, t2 = 0, t3 = 0;
    std::int64_t unix_ns = 0; ///< time: the wall clock at t3
    bytes_view info{};        ///< info: an info frame
    std::uint64_t from = 0;   ///< replay: the first sample in `frames`: later than asked for if it is kept no longer
    std::uint64_t next = 0;   ///< replay: the sample after the last in `frames`
    std::vector<bytes_view> frames{}; ///< replay: data frames
    bytes_view data{};                ///< control
    outlet_stats stats{};
};

inline constexpr std::size_t max_replay_frames = 64;     ///< in one reply
inline constexpr std::size_t max_stats_consumers = 1024; ///< in one reply; the rest is left out

std::vector<std::byte> encode_refusal(std::uint64_t id, reply_status status, std::string_view text);
std::vector<std::byte> encode_time_reply(std::uint64_t id, double t1, double t2, double t3, std::int64_t unix_ns);
std::vector<std::byte> encode_info_reply(std::uint64_t id, bytes_view info_frame);
/// `data` at most max_control_bytes; `refusal`, if there is one, makes the status refused.
std::vector<std::byte> encode_control_reply(std::uint64_t id, bytes_view data,
                                            std::optional<std::string_view> refusal = std::nullopt);
std::vector<std::byte> encode_stats_reply(std::uint64_t id, const outlet_stats& stats);

/// A replay reply, put together frame by frame: one copy of each payload.
class replay_writer {
public:
    replay_writer(std::uint64_t id, std::uint64_t from);
    /// Appends a data frame; `payload` is one or two pieces. At most max_replay_frames.
    void add(const data_head& head, bytes_view first, bytes_view second = {});
    std::size_t bytes() const noexcept { return bytes_.size(); }
    std::size_t frames() const noexcept { return count_; }
    std::vector<std::byte> finish(std::uint64_t next);

private:
    std::vector<std::byte> bytes_;
    std::size_t next_at_ = 0;
    std::size_t count_at_ = 0;
    std::uint32_t count_ = 0;
};

/// @param max_bytes longest frame taken. `out` is written only when the result is none.
frame_error decode_reply(bytes_view frame, std::size_t max_bytes, service_reply& out);

} // namespace rivulet::wire
