#pragma once

#include "wire/frame.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace rivulet::samples {

/// A run of regular stamps inside a segment, beginning at its sample `first`.
struct segment_run {
    std::uint32_t first = 0;
    wire::stamp_run run;
};

/// How the columns of a segment are laid out in its memory block. Fixed-size formats: stamps, runs, samples.
/// Variable-length formats: stamps, offsets (samples * channels + 1), text.
struct segment_shape {
    std::uint32_t samples = 0;    ///< capacity in samples
    std::uint32_t runs = 0;       ///< capacity in runs
    std::size_t sample_bytes = 0; ///< fixed-size formats
    std::size_t channels = 1;     ///< variable-length formats: offsets a sample
    std::size_t text_bytes = 0;   ///< variable-length formats: capacity in bytes; 0 = fixed-size
    /// Memory of a segment of this shape, padding included.
    std::size_t block_bytes() const noexcept;
    friend bool operator==(const segment_shape&, const segment_shape&) = default;
};

/// One block of a sample log: written once from front to back by the producer, read by anyone who holds a reference.
///
/// Invariants
///  1. Bytes below the log's published head never change while a reference exists.
///  2. `first` and `shape` are set before the segment becomes reachable and then constant.
///  3. sealed_at goes from `open` to the segment's last position + 1 once, before any later position is published.
///  4. References are taken under the log's mutex, out of its window, or by copying one that is held. So a segment that
///     the window has let go of and that is unshared() can be reached by nobody, and may be used again. Its owner sees
///     all that earlier readers did: release() and unshared() form an acquire-release pair.
class segment {
public:
    static constexpr std::uint64_t open = UINT64_MAX;

    explicit segment(const segment_shape& shape);

    const segment_shape& shape() const noexcept { return shape_; }
    double* stamps() noexcept { return stamps_; }
    segment_run* runs() noexcept { return runs_; }
    std::byte* samples() noexcept { return samples_; }
    std::uint32_t* offsets() noexcept { return offsets_; }
    std::size_t block_bytes() const noexcept { return shape_.block_bytes(); }

    void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    /// Frees the segment with the last reference.
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    /// True when the caller's reference is the only one (and no other can appear).
    bool unshared() const noexcept { return references_.load(std::memory_order_acquire) == 1; }
    /// Prepares an unshared segment for other positions.
    void reset(std::uint64_t first_position) noexcept;

    std::uint64_t first = 0;
    std::atomic<std::uint64_t> sealed_at{open};
    std::atomic<std::uint32_t> run_count{0};

private:
    ~segment() = default;

    std::atomic<std::uint32_t> references_{1};
    segment_shape shape_;
    std::unique_ptr<std::byte[]> block_;
    double* stamps_ = nullptr;
    segment_run* runs_ = nullptr;
    std::uint32_t* offsets_ = nullptr;
    std::byte* samples_ = nullptr;
};

/// Shared ownership of a segment.
class segment_ref {
public:
    segment_ref() noexcept = default;
    /// Takes over one reference.
    static segment_ref adopt(segment* s) noexcept { return segment_ref(s); }
    static segment_ref share(segment* s) noexcept {
        if (s)
            s->add_reference();
        return segment_ref(s);
    }
    segment_ref(const segment_ref& other) noexcept : segment_(other.segment_) {
        if (segment_)
            segment_->add_reference();
    }
    segment_ref(segment_ref&& other) noexcept : segment_(std::exchange(other.segment_, nullptr)) {}
    segment_ref& operator=(segment_ref other) noexcept {
        std::swap(segment_, other.segment_);
        return *this;
    }
    ~segment_ref() {
        if (segment_)
            segment_->release();
    }
    segment* get() const noexcept { return segment_; }
    segment* operator->() const noexcept { return segment_; }
    explicit operator bool() const noexcept { return segment_ != nullptr; }
    /// Gives the reference away, to be adopted elsewhere.
    segment* detach() noexcept { return std::exchange(segment_, nullptr); }

private:
    explicit segment_ref(segment* s) noexcept : segment_(s) {}
    segment* segment_ = nullptr;
};

} // namespace rivulet::samples
