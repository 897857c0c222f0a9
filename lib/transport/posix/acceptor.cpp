#include "transport/posix/acceptor.hpp"

#include "transport/io_context.hpp"
#include "transport/posix/socket.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace rivulet::transport::posix {
namespace {

constexpr auto descriptor_pause = std::chrono::milliseconds(200);

} // namespace

transport::endpoint acceptor::listen(const transport::endpoint& where) {
    transport::endpoint actual;
    fd_ = listen_on(where, io_.settings, actual);
    return actual;
}

void acceptor::accept_all(platform::time_point now, const std::string& endpoint,
                          const std::function<void(platform::unique_fd)>& admit) {
    for (;;) {
        platform::unique_fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd) {
            admit(std::move(fd));
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            io_.io.change(fd_.get(), 0);
            again_at_ = now + descriptor_pause;
            io_.log->warn("accept_failed", {{"endpoint", endpoint}},
                          "out of file descriptors: raise the limit of open files (ulimit -n)");
        }
        return;
    }
}

void acceptor::resume(platform::time_point now) {
    if (now < again_at_)
        return;
    again_at_ = platform::time_point::max();
    io_.io.change(fd_.get(), EPOLLIN);
}

} // namespace rivulet::transport::posix
