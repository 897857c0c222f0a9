#include "platform/fork_guard.hpp"

#include <atomic>
#include <pthread.h>

namespace rivulet::platform {
namespace {

std::atomic<std::uint32_t> generation{0};

void register_handler() noexcept {
    // Fails for lack of memory only; then a child is not recognised, as if there were no guard.
    [[maybe_unused]] static const int done = ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
}

} // namespace

fork_guard::fork_guard() noexcept {
    register_handler();
    generation_ = generation.load(std::memory_order_relaxed);
}

bool fork_guard::in_child() const noexcept { return generation.load(std::memory_order_relaxed) != generation_; }

} // namespace rivulet::platform
