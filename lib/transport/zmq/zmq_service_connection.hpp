#pragma once

#include "platform/reactor.hpp"
#include "transport/service_link.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <memory>
#include <mutex>
#include <string_view>

namespace rivulet::transport::zmq {

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes);

/// One DEALER socket to a service, which connects once: a monitor tells when it is open and when it has ended.
/// Threads: mutex_ guards both sockets; the sink is called by the I/O thread without it.
class zmq_service_connection final : public service_connection, public platform::io_handler {
public:
    zmq_service_connection(const endpoint& where, io_context& io, reply_sink& sink, std::size_t max_reply_bytes);
    ~zmq_service_connection() override { close(); }

    /// Once, when it is owned: from here on the I/O thread calls.
    void start(const endpoint& where);

    bool send(std::vector<std::byte> frame) override;
    void close() override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;

private:
    enum class phase : std::uint8_t { connecting, open, broken, closed };

    phase read_events();
    void deliver();
    void shut_locked();

    io_context& io_;
    reply_sink& sink_;
    const std::shared_ptr<zmq_runtime> runtime_;

    std::mutex mutex_;
    zmq_socket socket_;
    socket_monitor monitor_;
    phase phase_ = phase::connecting;
    bool was_open_ = false;
    std::string_view refusal_; ///< why it never opened, if the other side said so
    bool told_ = false;        ///< on_broken was called; I/O thread
};

} // namespace rivulet::transport::zmq
