#pragma once

#include "platform/reactor.hpp"
#include "platform/unique_fd.hpp"
#include "transport/path_guard.hpp"
#include "transport/posix/acceptor.hpp"
#include "transport/posix/framed_stream.hpp"
#include "transport/service_link.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace rivulet::transport::posix {

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink);

/// The service on stream sockets. Threads: mutex_ guards all; the I/O thread accepts, reads, and gives requests to the
/// sink without it; replies are written by whoever calls reply(), as far as the kernel takes them.
class posix_service_listener final : public service_listener, public platform::io_handler {
public:
    posix_service_listener(const transport::endpoint& where, io_context& io, request_sink& sink);
    ~posix_service_listener() override { close(); }

    /// When it is owned: from here on the I/O thread calls.
    void start();

    const std::string& endpoint() const noexcept override { return endpoint_; }
    void reply(asker to, std::vector<std::byte> frame) override;
    void close() override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;

private:
    struct connection {
        connection(platform::unique_fd fd, asker number, platform::time_point now);
        framed_stream stream;
        const asker id;
        bool said_something = false;                                ///< a whole frame has come
        bool ended = false;                                         ///< nothing more will come; answers may still go
        bool broken = false;                                        ///< to be dropped
        std::uint32_t watched = 0;                                  ///< epoll events
        platform::time_point quiet_since;                           ///< when the last frame came
        platform::time_point begun = platform::time_point::max();   ///< when the frame that is coming began
        platform::time_point stalled = platform::time_point::max(); ///< when it last took bytes, while some wait
    };

    void admit(platform::unique_fd fd, platform::time_point now);
    void read_from(connection& c, platform::time_point now);
    void serve(int fd, platform::time_point now);
    void wrote(connection& c, bool alive, platform::time_point now);
    void watch_as_needed(connection& c);
    void drop_late(platform::time_point now);
    void drop_broken();

    io_context& io_;
    request_sink& sink_;
    transport::endpoint where_;
    std::unique_ptr<path_guard> guard_;
    std::string endpoint_;

    std::mutex mutex_;
    acceptor listener_;
    std::map<int, std::unique_ptr<connection>> connections_; ///< by descriptor
    std::map<asker, connection*> by_id_;
    asker next_id_ = 1;
    bool closed_ = false;
};

} // namespace rivulet::transport::posix
