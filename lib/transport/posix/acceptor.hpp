#pragma once

#include "platform/futex.hpp"
#include "platform/unique_fd.hpp"
#include "transport/endpoint.hpp"

#include <functional>
#include <string>

namespace rivulet::transport {
class io_context;
}

namespace rivulet::transport::posix {

/// A listening socket that its owner watches on the I/O thread. When descriptors run out a connection stays in the
/// backlog and the socket readable: it looks away for a moment then, or whoever watches it would spin. Threads: one at
/// a time (the owner's lock).
class acceptor {
public:
    explicit acceptor(io_context& io) noexcept : io_(io) {}

    /// Listens; the endpoint with the port in use. @throws error address_in_use, bad_endpoint, system.
    transport::endpoint listen(const transport::endpoint& where);
    int fd() const noexcept { return fd_.get(); }
    void close() noexcept { fd_.reset(); }

    /// Gives every connection that waits to `admit`. @param endpoint for the log.
    void accept_all(platform::time_point now, const std::string& endpoint,
                    const std::function<void(platform::unique_fd)>& admit);
    /// Looks again, once it is time.
    void resume(platform::time_point now);
    /// When resume() has something to do.
    platform::time_point again_at() const noexcept { return again_at_; }

private:
    io_context& io_;
    platform::unique_fd fd_;
    platform::time_point again_at_ = platform::time_point::max();
};

} // namespace rivulet::transport::posix
