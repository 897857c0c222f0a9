#include "samples/segment.hpp"

namespace rivulet::samples {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + line - 1) / line * line; }

/// Bytes of each column.
struct columns {
    explicit columns(const segment_shape& shape) noexcept
        : stamps(rounded(shape.samples * sizeof(double))), runs(rounded(shape.runs * sizeof(segment_run))),
          offsets(shape.text_bytes ? rounded((shape.samples * shape.channels + 1) * sizeof(std::uint32_t)) : 0),
          values(shape.text_bytes ? shape.text_bytes : shape.samples * shape.sample_bytes) {}
    std::size_t sum() const noexcept { return line + stamps + runs + offsets + values; }

    std::size_t stamps, runs, offsets, values;
};

} // namespace

std::size_t segment_shape::block_bytes() const noexcept { return columns(*this).sum(); }

segment::segment(const segment_shape& shape) : shape_(shape) {
    const columns size(shape);
    // Not value-initialised: the kernel hands out pages as they are written.
    block_.reset(new std::byte[size.sum()]);
    const auto address = reinterpret_cast<std::uintptr_t>(block_.get());
    std::byte* at = block_.get() + (rounded(address) - address);
    stamps_ = reinterpret_cast<double*>(at);
    at += size.stamps;
    runs_ = reinterpret_cast<segment_run*>(at);
    at += size.runs;
    if (shape.text_bytes != 0) {
        offsets_ = reinterpret_cast<std::uint32_t*>(at);
        offsets_[0] = 0;
    }
    samples_ = at + size.offsets;
}

void segment::reset(std::uint64_t first_position) noexcept {
    first = first_position;
    sealed_at.store(open, std::memory_order_relaxed);
    run_count.store(0, std::memory_order_relaxed);
}

} // namespace rivulet::samples
