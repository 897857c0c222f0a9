#pragma once

#include "platform/reactor.hpp"
#include "transport/path_guard.hpp"
#include "transport/service_link.hpp"
#include "transport/zmq/connection_watch.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::transport::zmq {

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink);

/// The service on a ROUTER socket. libzmq ends connections that do not finish its handshake; a monitor tells which
/// there are, so that too many are cut back to those that ask something. Threads: mutex_ guards the sockets; the I/O
/// thread reads and gives requests to the sink without it; replies are handed to libzmq by whoever calls reply().
class zmq_service_listener final : public service_listener, public platform::io_handler {
public:
    zmq_service_listener(const transport::endpoint& where, io_context& io, request_sink& sink);
    ~zmq_service_listener() override { close(); }

    /// When it is owned: from here on the I/O thread calls.
    void start();

    const std::string& endpoint() const noexcept override { return endpoint_; }
    void reply(asker to, std::vector<std::byte> frame) override;
    void close() override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;

private:
    struct peer {
        asker id = 0;
        bool delimited = false; ///< a REQ socket: an empty part stands before what it says
        connection link;
        std::shared_ptr<std::atomic<std::size_t>> waiting; ///< bytes of replies that libzmq has not written yet
    };
    struct activity {
        bool asked = false;
        platform::time_point since{}; ///< its last request, or when it was first seen
    };
    struct request {
        asker from = 0;
        std::vector<std::byte> frame;
    };

    bool receive(request& out, platform::time_point now);
    void limit_connections(platform::time_point now);

    io_context& io_;
    request_sink& sink_;
    const std::shared_ptr<zmq_runtime> runtime_;
    std::unique_ptr<path_guard> guard_;
    std::string endpoint_;

    std::mutex mutex_;
    zmq_socket socket_;
    connection_watch watch_;
    std::uint64_t refusals_told_ = 0;   ///< of watch_.refused(), in the log
    std::map<std::string, peer> peers_; ///< by routing id
    std::map<asker, std::string> routes_;
    std::map<std::pair<int, std::uint64_t>, activity> connections_; ///< by descriptor and serial
    asker next_id_ = 1;
    bool closed_ = false;
};

} // namespace rivulet::transport::zmq
