#pragma once

#if defined(__SANITIZE_THREAD__)
#define RIVULET_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RIVULET_TSAN 1
#endif
#endif

#if defined(RIVULET_TSAN)
extern "C" {
void __tsan_acquire(void* address); // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void* address); // NOLINT(bugprone-reserved-identifier)
}
#endif

/// Tells ThreadSanitizer about an order that exists, but that it cannot see because it is made inside a library that
/// is not instrumented: what happened before hand_over(p) happens before what follows take_over(p). No code at all in
/// other builds. For memory given to libzmq (before zmq_msg_send) that its I/O thread gives back (first in the free
/// function).
namespace rivulet::platform {

inline void hand_over([[maybe_unused]] void* address) noexcept {
#if defined(RIVULET_TSAN)
    __tsan_release(address);
#endif
}

inline void take_over([[maybe_unused]] void* address) noexcept {
#if defined(RIVULET_TSAN)
    __tsan_acquire(address);
#endif
}

} // namespace rivulet::platform
