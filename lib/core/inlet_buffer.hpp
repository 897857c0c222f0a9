#pragma once

#include "core/sequence_marks.hpp"
#include "samples/sample_log.hpp"
#include "wire/frame.hpp"

#include <rivulet/options.hpp>
#include <rivulet/stream_info.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace rivulet::core {

/// The inlet's own sample log and what a plain log does not know: gaps, segments and the end.
/// Threads: the receiving thread writes (start_segment, append, end), the pulling one reads marks.
class inlet_buffer {
public:
    inlet_buffer(const samples::log_options& options, when_full policy);

    const std::shared_ptr<samples::sample_log>& log() const noexcept { return log_; }

    /// What follows comes from an outlet whose next sample is `next_sequence`.
    void start_segment(std::uint64_t next_sequence);
    /// when_full::hold: false while there is no room. A frame that does not fit is kept and finished by the next call.
    bool ready();
    /// Appends a frame's samples; those that came before are left out. @return false: malformed payload.
    bool append(const wire::data_view& frame, std::endian order);
    /// The same for a frame whose payload comes piece by piece, straight into the log. False: it has to come whole, as
    /// its values or sequence numbers need work. A frame that never becomes complete needs no end.
    bool begin(const wire::data_view& begun, std::size_t payload_bytes, std::endian order);
    /// Where the next bytes of the payload belong, at most to the end of a segment; empty: no room, or all is there.
    std::span<std::byte> payload_room();
    void payload_received(std::size_t bytes);
    /// No more samples once what is held back fits; the outlet's last one had the number before `final_sequence`.
    void end(std::uint64_t final_sequence);

    /// The sequence number of the next sample that is not here yet. Receiving thread.
    std::uint64_t expected() const noexcept { return expected_; }

    std::uint64_t received() const noexcept { return received_.load(std::memory_order_relaxed); }
    std::uint64_t repeated() const noexcept { return repeated_.load(std::memory_order_relaxed); }

    /// The sequence number after the last sample, once ended. Pulling thread, after log()->finished().
    std::uint64_t final_sequence() const noexcept { return final_.load(std::memory_order_acquire); }

    /// Where sequence numbers change; taken by the pulling thread.
    sequence_marks& marks() noexcept { return marks_; }

private:
    void mark(std::uint64_t sequence, bool new_segment);
    bool flush_held();
    std::uint32_t append_fixed(const wire::data_view& frame, std::uint32_t first, bool swapped);
    void copy_values(std::byte* to, const std::byte* from, std::size_t samples, bool swapped) const noexcept;
    bool append_text(const wire::data_view& frame, std::uint32_t skip, std::endian order);
    void read_stamps(const wire::data_view& frame, std::uint32_t first, std::uint32_t count, bool swapped,
                     double* to) const noexcept;

    const samples::log_options options_;
    const samples::sample_log::overflow policy_;
    std::shared_ptr<samples::sample_log> log_;

    // Receiving thread.
    std::uint64_t expected_ = 0; ///< sequence number of the next sample
    std::vector<double> stamps_; ///< of the frame at hand
    std::vector<std::string_view> texts_;
    /// when_full::hold: what did not fit.
    std::vector<std::byte> held_bytes_;
    std::vector<std::string> held_texts_;
    std::vector<double> held_stamps_;
    std::size_t held_done_ = 0;
    std::size_t held_count_ = 0;
    /// A frame that comes piece by piece.
    struct begun_frame {
        wire::data_view view; ///< its runs and column lie in the two below
        std::vector<wire::stamp_run> runs;
        std::vector<std::byte> column;
        std::uint32_t done = 0;  ///< samples in the log
        std::size_t partial = 0; ///< bytes of the next sample
    } begun_;
    bool end_pending_ = false; ///< finish once nothing is held back

    std::atomic<std::uint64_t> received_{0};
    std::atomic<std::uint64_t> repeated_{0};
    std::atomic<std::uint64_t> final_{0};

    sequence_marks marks_;
};

} // namespace rivulet::core
