#pragma once

#include <string>

namespace rivulet::tools::bench {

/// Where and with what was measured.
struct machine {
    std::string cpu;
    unsigned cores = 0; ///< usable by this process
    std::string kernel;
    std::string version; ///< of the library that is loaded
    std::string commit;  ///< of this program, with "-dirty"; "unknown" outside a repository
    std::string build;   ///< Release, RelWithDebInfo, ...
    std::string libzmq;
    std::string when; ///< UTC
    double load = 0;  ///< load average of the last minute
};

machine this_machine();

} // namespace rivulet::tools::bench
