#include "transport/path_guard.hpp"

#include "wire/frame.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rivulet::transport {
namespace {

[[noreturn]] void in_use(const std::string& endpoint) {
    throw error(errc::address_in_use,
                "endpoint " + endpoint + ": another outlet serves this path; choose another path, or stop that one");
}

/// Somebody accepts connections there.
bool answers(const std::string& path) {
    const platform::unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    // A full backlog (EAGAIN) is an answer as well.
    return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

} // namespace

path_guard::path_guard(const std::string& path, const std::string& endpoint) : path_(path), lock_path_(path + ".lock") {
    for (;;) {
        lock_.reset(::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0660));
        if (!lock_)
            throw error(errc::system, "endpoint " + endpoint + ": cannot make " + lock_path_ + ": " +
                                          std::strerror(errno) + "; choose a folder that exists and can be written");
        if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
            in_use(endpoint);
        // Whoever had the lock before may have removed the file since we opened it: then it guards nothing.
        struct stat mine {};
        struct stat there {};
        if (::fstat(lock_.get(), &mine) == 0 && ::stat(lock_path_.c_str(), &there) == 0 && mine.st_ino == there.st_ino)
            break;
    }
    struct stat what {};
    if (::lstat(path.c_str(), &what) != 0)
        return;
    const bool socket = S_ISSOCK(what.st_mode);
    if (!socket || answers(path)) {
        ::unlink(lock_path_.c_str());
        if (socket)
            in_use(endpoint);
        throw error(errc::bad_endpoint,
                    "endpoint " + endpoint + ": " + path + " exists and is no socket; choose another path");
    }
    ::unlink(path.c_str()); // nobody answers: left behind by a crash
}

path_guard::~path_guard() {
    struct stat what {};
    if (::lstat(path_.c_str(), &what) == 0 && S_ISSOCK(what.st_mode))
        ::unlink(path_.c_str());
    ::unlink(lock_path_.c_str());
}

std::string fresh_socket_path(const std::string& folder) {
    const std::string name = "rivulet-" + wire::to_string(wire::make_token());
    constexpr std::size_t short_name = sizeof "rivulet-" + 11; // 48 bits of chance are enough for one folder
    if (!folder.empty() && folder.size() + short_name + 5 < sizeof(sockaddr_un::sun_path))
        return folder + name.substr(0, short_name) + ".sock";
    const char* temporary = std::getenv("TMPDIR");
    return std::string(temporary && *temporary ? temporary : "/tmp") + "/" + name + ".sock";
}

std::unique_ptr<path_guard> guard_path(endpoint& where) {
    if (where.kind != endpoint::family::path)
        return nullptr;
    if (where.path.empty() || where.path.back() == '/')
        where.path = fresh_socket_path(where.path);
    return std::make_unique<path_guard>(where.path, where.to_string());
}

} // namespace rivulet::transport
