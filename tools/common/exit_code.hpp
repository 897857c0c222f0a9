#pragma once

namespace rivulet::tools {

/// What every tool returns; scripts rely on these numbers.
enum exit_code : int {
    exit_done = 0,          ///< also after SIGINT or SIGTERM, and when stdout's reader went away
    exit_failed = 1,        ///< something broke: a file, a full disk, an address in use
    exit_usage = 2,         ///< the command line or the configuration cannot be used
    exit_not_connected = 3, ///< nothing found, or not connected in time
    exit_data_lost = 4,     ///< samples are missing (only with --strict)
    exit_ended_early = 5    ///< ended or lost before --count or --duration
};

} // namespace rivulet::tools
