#pragma once

#include <cstddef>

namespace rivulet::test {

/// Counts what this thread takes from operator new while it lives. The program must be built with
/// allocation_counter.cpp, which replaces operator new.
class allocation_counter {
public:
    allocation_counter() noexcept;

    std::size_t count() const noexcept;
    /// Bytes of the largest single allocation.
    std::size_t largest() const noexcept;

private:
    std::size_t count_before_;
};

} // namespace rivulet::test
