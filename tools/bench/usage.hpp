#pragma once

#include <cstdint>
#include <optional>

namespace rivulet::tools::bench {

/// What this process has used so far: all its threads.
struct usage {
    double cpu_s = 0;
    std::uint64_t waits = 0; ///< voluntary context switches
    std::uint64_t preempted = 0;
    std::optional<std::uint64_t> allocations{};  ///< where they are counted
    std::optional<std::uint64_t> system_calls{}; ///< where they can be counted
};

usage operator-(const usage& later, const usage& earlier);

/// Takes usage; with `counted`, also counts allocations and system calls from its construction on. The system calls
/// are those of this thread and of threads that it starts later.
class usage_meter {
public:
    explicit usage_meter(bool counted);
    ~usage_meter();
    usage_meter(const usage_meter&) = delete;
    usage_meter& operator=(const usage_meter&) = delete;

    usage read() const;

private:
    bool counted_;
    int calls_fd_ = -1;
};

/// Why system calls cannot be counted here; empty when they can.
const char* why_no_system_calls();

/// Highest resident memory of this process so far, bytes.
std::uint64_t peak_memory();
/// Resident memory now, bytes.
std::uint64_t resident_memory();
std::uint64_t thread_count();

} // namespace rivulet::tools::bench
