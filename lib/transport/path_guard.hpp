#pragma once

#include "platform/unique_fd.hpp"
#include "transport/endpoint.hpp"

#include <memory>
#include <string>

namespace rivulet::transport {

/// Keeps a unix socket's path for one outlet: libzmq's bind would unlink whatever is there, be it a live outlet's
/// socket. Holds a lock file beside the path for as long as it lives. A stale socket may be taken over; a live one, or
/// a file that is no socket, is refused.
class path_guard {
public:
    /// @throws error address_in_use, bad_endpoint, system.
    path_guard(const std::string& path, const std::string& endpoint);
    /// Removes the socket and the lock: after the listener has closed.
    ~path_guard();
    path_guard(const path_guard&) = delete;
    path_guard& operator=(const path_guard&) = delete;

private:
    std::string path_;
    std::string lock_path_;
    platform::unique_fd lock_;
};

/// A fresh path for an endpoint without one: in `folder` (with a / at its end) if there is room for it in a socket's
/// address, else in TMPDIR or /tmp.
std::string fresh_socket_path(const std::string& folder = {});

/// Keeps the path of an endpoint to listen on, after a fresh one was put in where it has none, or a folder only.
/// nullptr: an endpoint without a path. @throws error as path_guard.
std::unique_ptr<path_guard> guard_path(endpoint& where);

} // namespace rivulet::transport
