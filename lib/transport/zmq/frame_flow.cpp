#include "transport/zmq/frame_flow.hpp"

#include "platform/tsan.hpp"

#include <rivulet/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rivulet::transport::zmq {

release_signal::release_signal(platform::reactor& io, platform::io_handler& handler,
                               std::shared_ptr<drain_watch> drains)
    : io_(io), handler_(&handler), drains_(std::move(drains)) {
    if (!fd_)
        throw error(errc::system, std::string("ZeroMQ link: cannot make an eventfd: ") + std::strerror(errno));
}

void release_signal::notify() noexcept {
    if (direct_.load(std::memory_order_seq_cst)) {
        fd_.set();
        return;
    }
    const std::lock_guard lock(mutex_);
    if (handler_)
        io_.post(*handler_);
}

void release_signal::detach() noexcept {
    go_direct();
    const std::lock_guard lock(mutex_);
    handler_ = nullptr;
}

frame_flow::frame_flow(std::size_t window_frames, std::size_t window_bytes, std::shared_ptr<release_signal> signal)
    : window_bytes_(window_bytes), signal_(std::move(signal)), slots_(window_frames) {
    for (slot& s : slots_)
        s.flow = this;
}

frame_flow* frame_flow::make(std::size_t window_frames, std::size_t window_bytes,
                             std::shared_ptr<release_signal> signal) {
    return new frame_flow(window_frames, window_bytes, std::move(signal));
}

void frame_flow::drop_reference() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
}

frame_flow::slot* frame_flow::take(std::size_t bytes) noexcept {
    const std::size_t queued = bytes_.load(std::memory_order_relaxed);
    if (queued != 0 && queued + bytes > window_bytes_)
        return nullptr;
    // As a rule the next one is free; a subscriber to everything may release later frames first.
    for (std::size_t tried = 0; tried < slots_.size(); ++tried) {
        slot& s = slots_[next_];
        next_ = (next_ + 1) % slots_.size();
        if (s.busy.load(std::memory_order_acquire))
            continue;
        s.busy.store(true, std::memory_order_relaxed);
        s.segment = nullptr;
        s.owned = nullptr;
        s.bytes = bytes;
        references_.fetch_add(1, std::memory_order_relaxed);
        frames_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        return &s;
    }
    return nullptr;
}

/// Half the window free: waking the sender for every frame would cost a system call each.
bool frame_flow::roomy() const noexcept {
    const std::size_t queued = bytes_.load(std::memory_order_seq_cst);
    return frames_.load(std::memory_order_seq_cst) <= slots_.size() / 2 &&
           (queued == 0 || queued + wanted_.load(std::memory_order_seq_cst) <= window_bytes_);
}

bool frame_flow::starve(std::size_t bytes) noexcept {
    wanted_.store(bytes, std::memory_order_seq_cst);
    starved_.store(true, std::memory_order_seq_cst);
    if (!roomy())
        return true;
    starved_.store(false, std::memory_order_seq_cst);
    return false;
}

void frame_flow::release(void*, void* hint) noexcept {
    auto& s = *static_cast<slot*>(hint);
    platform::take_over(&s);
    frame_flow& flow = *s.flow;
    if (s.segment)
        s.segment->release();
    std::free(s.owned);
    const std::size_t bytes = s.bytes;
    s.busy.store(false, std::memory_order_release);
    flow.bytes_.fetch_sub(bytes, std::memory_order_seq_cst);
    const bool emptied = flow.frames_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    flow.released_.fetch_add(1, std::memory_order_relaxed);
    if (flow.always_ || (flow.starved_.load(std::memory_order_seq_cst) && flow.roomy() &&
                         flow.starved_.exchange(false, std::memory_order_seq_cst)))
        flow.signal_->notify();
    if (emptied)
        flow.signal_->emptied();
    flow.drop_reference();
}

} // namespace rivulet::transport::zmq
