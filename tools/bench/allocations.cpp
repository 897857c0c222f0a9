#include "bench/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> taken{0};

} // namespace

// This program's malloc stands before the C library's, for all libraries in the process; glibc documents this way of
// replacing it, and offers its own under these names. What is not replaced here (free) fits, as the memory is glibc's.
#ifdef RIVULET_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

static void count_one() {
    if (counting.load(std::memory_order_relaxed)) [[unlikely]]
        taken.fetch_add(1, std::memory_order_relaxed);
}

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
    count_one();
    return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
    count_one();
    return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t size) {
    count_one();
    return __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    count_one();
    *memory = __libc_memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

namespace rivulet::tools::bench {

void count_allocations() noexcept { counting.store(true, std::memory_order_relaxed); }
std::uint64_t allocations() noexcept { return taken.load(std::memory_order_relaxed); }

} // namespace rivulet::tools::bench
