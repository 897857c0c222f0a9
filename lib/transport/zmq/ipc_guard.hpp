#pragma once

#include "platform/unique_fd.hpp"

#include <string>

namespace rivulet::transport::zmq {

/// Keeps an ipc path for one outlet: libzmq's bind would unlink whatever is there, be it a live outlet's socket.
/// Holds a lock file beside the path for as long as it lives. A stale socket may be taken over; a live one, or a file
/// that is no socket, is refused.
class ipc_guard {
public:
    /// @throws error address_in_use, bad_endpoint, system.
    ipc_guard(const std::string& path, const std::string& endpoint);
    /// Removes the socket and the lock: after the listener has closed.
    ~ipc_guard();
    ipc_guard(const ipc_guard&) = delete;
    ipc_guard& operator=(const ipc_guard&) = delete;

private:
    std::string path_;
    std::string lock_path_;
    platform::unique_fd lock_;
};

/// A fresh path for an ipc endpoint without one, in TMPDIR or /tmp.
std::string fresh_ipc_path();

} // namespace rivulet::transport::zmq
