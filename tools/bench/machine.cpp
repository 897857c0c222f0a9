#include "bench/machine.hpp"

#include "bench_commit.hpp"
#include "common/log.hpp"

#include <rivulet/version.hpp>

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sys/utsname.h>
#include <zmq.h>

namespace rivulet::tools::bench {

machine this_machine() {
    machine m;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; m.cpu.empty() && std::getline(info, line);)
        if (const auto colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
            m.cpu = line.substr(colon + 2);
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (::sched_getaffinity(0, sizeof usable, &usable) == 0)
        m.cores = static_cast<unsigned>(CPU_COUNT(&usable));
    utsname name{};
    if (::uname(&name) == 0)
        m.kernel = fmt::format("{} {}", name.sysname, name.release);
    m.version = version();
    m.commit = bench_commit;
    m.build = bench_build;
    int major = 0, minor = 0, patch = 0;
    zmq_version(&major, &minor, &patch);
    m.libzmq = fmt::format("{}.{}.{}", major, minor, patch);
    m.when = utc_time();
    if (::getloadavg(&m.load, 1) != 1)
        m.load = 0;
    return m;
}

} // namespace rivulet::tools::bench
