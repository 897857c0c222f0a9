#include "samples/segment.hpp"

namespace rivulet::samples {
namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

} // namespace

segment::segment(const segment_shape& shape) : shape_(shape) {
    const std::size_t stamps_bytes = rounded(shape.samples * sizeof(double));
    const std::size_t runs_bytes = rounded(shape.runs * sizeof(segment_run));
    const bool text = shape.text_bytes != 0;
    const std::size_t offsets_bytes =
        text ? rounded((shape.samples * shape.channels + 1) * sizeof(std::uint32_t)) : std::size_t{0};
    const std::size_t samples_bytes = text ? shape.text_bytes : shape.samples * shape.sample_bytes;
    block_bytes_ = 64 + stamps_bytes + runs_bytes + offsets_bytes + samples_bytes;
    // Not value-initialised: the kernel hands out pages as they are written.
    block_.reset(new std::byte[block_bytes_]);
    const std::uintptr_t start = rounded(reinterpret_cast<std::uintptr_t>(block_.get()));
    std::byte* at = block_.get() + (start - reinterpret_cast<std::uintptr_t>(block_.get()));
    stamps_ = reinterpret_cast<double*>(at);
    runs_ = reinterpret_cast<segment_run*>(at + stamps_bytes);
    if (text) {
        offsets_ = reinterpret_cast<std::uint32_t*>(at + stamps_bytes + runs_bytes);
        offsets_[0] = 0;
    }
    samples_ = at + stamps_bytes + runs_bytes + offsets_bytes;
}

void segment::reset(std::uint64_t first_position) noexcept {
    first = first_position;
    sealed_at.store(open, std::memory_order_relaxed);
    run_count.store(0, std::memory_order_relaxed);
    used = 0;
    text_used = 0;
}

} // namespace rivulet::samples
