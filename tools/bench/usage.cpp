#include "bench/usage.hpp"

#include "bench/allocations.hpp"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <linux/perf_event.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rivulet::tools::bench {
namespace {

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

/// A counter of system calls of this thread and of those that it starts from now on; -1 when that is not possible.
int open_system_call_counter() {
    std::uint64_t id = 0;
    for (const char* root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
        if (std::ifstream file(fmt::format("{}/events/raw_syscalls/sys_enter/id", root)); file >> id)
            break;
    if (id == 0)
        return -1;
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.size = sizeof attributes;
    attributes.config = id;
    attributes.inherit = 1;
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// The value of a line of /proc/self/status, "VmHWM:   1234 kB".
std::uint64_t status_value(std::string_view name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name))
            return std::strtoull(line.c_str() + name.size(), nullptr, 10);
    return 0;
}

} // namespace

usage operator-(const usage& later, const usage& earlier) {
    usage result{later.cpu_s - earlier.cpu_s, later.waits - earlier.waits, later.preempted - earlier.preempted};
    if (later.allocations && earlier.allocations)
        result.allocations = *later.allocations - *earlier.allocations;
    if (later.system_calls && earlier.system_calls)
        result.system_calls = *later.system_calls - *earlier.system_calls;
    return result;
}

usage_meter::usage_meter(bool counted) : counted_(counted) {
    if (!counted)
        return;
    calls_fd_ = open_system_call_counter();
    count_allocations();
}

usage_meter::~usage_meter() {
    if (calls_fd_ >= 0)
        ::close(calls_fd_);
}

usage usage_meter::read() const {
    rusage r{};
    ::getrusage(RUSAGE_SELF, &r);
    usage result{seconds(r.ru_utime) + seconds(r.ru_stime), static_cast<std::uint64_t>(r.ru_nvcsw),
                 static_cast<std::uint64_t>(r.ru_nivcsw)};
    if (counted_ && can_count_allocations)
        result.allocations = allocations();
    if (std::uint64_t calls = 0; calls_fd_ >= 0 && ::read(calls_fd_, &calls, sizeof calls) == sizeof calls)
        result.system_calls = calls;
    return result;
}

const char* why_no_system_calls() {
    const int fd = open_system_call_counter();
    if (fd >= 0) {
        ::close(fd);
        return "";
    }
    return errno == EACCES || errno == EPERM
               ? "system calls: n/a (needs root, or CAP_PERFMON and a readable tracefs)"
               : "system calls: n/a (no raw_syscalls tracepoint; as root: mount -t tracefs none /sys/kernel/tracing)";
}

std::uint64_t peak_memory() { return status_value("VmHWM:") * 1024; }
std::uint64_t resident_memory() { return status_value("VmRSS:") * 1024; }
std::uint64_t thread_count() { return status_value("Threads:"); }

} // namespace rivulet::tools::bench
