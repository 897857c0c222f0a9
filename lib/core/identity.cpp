#include "core/identity.hpp"

#include "wire/frame.hpp"

#include <rivulet/clock.hpp>

#include <array>
#include <cerrno>
#include <climits>
#include <unistd.h>

namespace rivulet::core {

std::string new_uid() { return wire::to_string(wire::make_token()); }

void fill_identity(stream_info& info, const config& settings) {
    info.uid = new_uid();
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0)
        info.host = host.data();
    info.session = settings.session.name;
    info.created_at = local_clock();
}

std::string process_name() {
    return std::string(::program_invocation_short_name).substr(0, 48) + ':' + std::to_string(::getpid());
}

} // namespace rivulet::core
