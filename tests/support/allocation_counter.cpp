#include "allocation_counter.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocations = 0;
thread_local std::size_t largest_allocation = 0;

void* take(std::size_t size, std::size_t alignment = 0) {
    ++allocations;
    largest_allocation = std::max(largest_allocation, size);
    void* const memory =
        alignment == 0
            ? std::malloc(std::max<std::size_t>(size, 1))
            : std::aligned_alloc(alignment, (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}

} // namespace

// The other forms of new and delete (array, nothrow, sized) end up in these by the standard library's defaults.
void* operator new(std::size_t size) { return take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// With AddressSanitizer the defaults of these would not.
void* operator new[](std::size_t size) { return take(size); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rivulet::test {

allocation_counter::allocation_counter() noexcept : count_before_(allocations) { largest_allocation = 0; }

std::size_t allocation_counter::count() const noexcept { return allocations - count_before_; }
std::size_t allocation_counter::largest() const noexcept { return largest_allocation; }

} // namespace rivulet::test
