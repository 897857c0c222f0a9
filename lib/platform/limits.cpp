#include "platform/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/resource.h>

namespace rivulet::platform {
namespace {

constexpr rlim_t most = rlim_t{1} << 20;

std::size_t soft_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, most));
}

void raise_soft_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    const rlim_t wanted = std::min(limit.rlim_max, most);
    if (limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Without /proc: asks for each possible descriptor.
std::size_t count_by_asking(std::size_t limit) noexcept {
    std::size_t open = 0;
    for (std::size_t fd = 0; fd < limit; ++fd)
        open += ::fcntl(static_cast<int>(fd), F_GETFD) >= 0 ? 1 : 0;
    return open;
}

} // namespace

std::size_t raise_fd_limit() noexcept {
    [[maybe_unused]] static const bool done = (raise_soft_limit(), true);
    return soft_limit();
}

std::size_t fd_headroom() noexcept {
    const std::size_t limit = soft_limit();
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
    if (!folder && (errno == EMFILE || errno == ENFILE))
        return 0;
    std::size_t open = 0;
    if (!folder) {
        open = count_by_asking(limit);
    } else {
        const auto own = static_cast<unsigned long>(::dirfd(folder.get()));
        while (const dirent* entry = ::readdir(folder.get())) {
            // Descriptors beyond a limit that was lowered later take no place below it.
            const bool number = entry->d_name[0] != '.';
            const unsigned long fd = number ? std::strtoul(entry->d_name, nullptr, 10) : limit;
            open += fd < limit && fd != own ? 1 : 0;
        }
    }
    return limit - std::min(limit, open);
}

} // namespace rivulet::platform
