#pragma once

#include "platform/event_fd.hpp"
#include "platform/reactor.hpp"
#include "samples/segment.hpp"
#include "transport/drain_watch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace rivulet::transport::zmq {

/// Tells a link that libzmq released something; outlives the link, since releases may come after it. Threads: any.
class release_signal {
public:
    release_signal(platform::reactor& io, platform::io_handler& handler, std::shared_ptr<drain_watch> drains);
    void notify() noexcept;
    /// A consumer has no frames in flight any more.
    void emptied() noexcept { drains_->changed(); }
    /// From now on only the descriptor is written: the link's owner waits by itself.
    void go_direct() noexcept { direct_.store(true, std::memory_order_seq_cst); }
    /// The handler is not called any more.
    void detach() noexcept;
    int fd() const noexcept { return fd_.get(); }
    void drain() noexcept { fd_.clear(); }

private:
    std::mutex mutex_;
    platform::reactor& io_;
    platform::io_handler* handler_;
    const std::shared_ptr<drain_watch> drains_;
    platform::event_fd fd_;
    std::atomic<bool> direct_{false};
};

/// The frames of one consumer that libzmq still refers to: a window of fixed size. Its slots are the callbacks' hints;
/// nothing is allocated a frame. Lives until its owner and the last frame have let go.
///
/// Threads: take() and starve() by the link under its lock; releases come on libzmq's I/O thread, or on the sending
/// thread when nobody subscribes.
class frame_flow {
public:
    struct slot {
        frame_flow* flow = nullptr;
        samples::segment* segment = nullptr; ///< a reference, or
        std::byte* owned = nullptr;          ///< memory to be freed, or neither: the caller's memory
        std::size_t bytes = 0;
        std::atomic<bool> busy{false};
    };

    static frame_flow* make(std::size_t window_frames, std::size_t window_bytes,
                            std::shared_ptr<release_signal> signal);
    /// Another owner.
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    /// An owner lets go.
    void abandon() noexcept { drop_reference(); }

    /// A free slot for a frame of `bytes`, or nullptr when the window is full. A single frame always fits an empty one.
    slot* take(std::size_t bytes) noexcept;
    /// After take(bytes) failed: the signal will tell of room, unless there is room already (then false).
    bool starve(std::size_t bytes) noexcept;
    std::size_t in_flight() const noexcept { return frames_.load(std::memory_order_seq_cst); }
    /// Frames released so far.
    std::uint64_t released() const noexcept { return released_.load(std::memory_order_relaxed); }
    /// Makes every release signal (sync). Before the first frame.
    void signal_always() noexcept { always_ = true; }

    /// zmq_free_fn; the hint is a slot.
    static void release(void* data, void* hint) noexcept;

private:
    frame_flow(std::size_t window_frames, std::size_t window_bytes, std::shared_ptr<release_signal> signal);
    ~frame_flow() = default;
    void drop_reference() noexcept;
    bool roomy() const noexcept;

    const std::size_t window_bytes_;
    const std::shared_ptr<release_signal> signal_;
    std::vector<slot> slots_;
    std::size_t next_ = 0;
    bool always_ = false;
    std::atomic<std::size_t> references_{1};
    std::atomic<std::size_t> frames_{0};
    std::atomic<std::size_t> bytes_{0};
    std::atomic<std::uint64_t> released_{0};
    std::atomic<std::size_t> wanted_{0}; ///< bytes that starve() asked for
    std::atomic<bool> starved_{false};
};

} // namespace rivulet::transport::zmq
