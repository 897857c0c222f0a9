#pragma once

#include "platform/unique_fd.hpp"
#include "transport/endpoint.hpp"
#include "transport/transport.hpp"
#include "transport/zmq/zmq_runtime.hpp"
#include "wire/frame.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>
#include <zmq.h>

namespace rivulet::transport::zmq {

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment);

/// One SUB socket of an inlet, subscribed to its own token only. libzmq reconnects by itself and subscribes again to
/// whatever it should: once a connection is seen to have ended, by the monitor or by a second greeting, that is a new
/// token with a hello that asks for what is missing. fd() is an epoll descriptor over socket and monitor.
/// Threads: one at a time (the inlet's pump lock).
class zmq_inlet_link final : public inlet_link {
public:
    zmq_inlet_link(const transport::endpoint& where, const inlet_environment& environment);
    ~zmq_inlet_link() override { close(); }

    int fd() const noexcept override { return poller_.get(); }
    bool pump(time_point now, std::size_t max_frames) override;
    time_point next_turn() const noexcept override { return retry_at_; }
    std::string trouble() const override;
    void reconnect(time_point now) override;
    void close() override;

private:
    /// The parts of one message, reused.
    class message {
    public:
        message();
        ~message();
        message(const message&) = delete;
        message& operator=(const message&) = delete;
        /// False: nothing there.
        bool receive(void* socket);
        std::size_t size() const noexcept { return used_; }
        bool complete() const noexcept { return complete_; } ///< false: more parts than any message of ours has
        wire::bytes_view part(std::size_t i) const noexcept;

    private:
        static constexpr std::size_t max_parts = 16;
        mutable std::vector<zmq_msg_t> parts_;
        std::size_t used_ = 0;
        bool complete_ = true;
    };

    void connect_socket();
    void disconnect_socket();
    void say_hello();
    void start_over();
    void check_connection(time_point now);
    void try_again(time_point now);
    void handle(time_point now);
    void handle_data();
    void handle_info(time_point now);
    void handle_status();
    wire::bytes_view joined_frame();

    const inlet_environment environment_;
    const std::shared_ptr<zmq_runtime> runtime_;
    const std::string address_;
    zmq_socket socket_;
    socket_monitor monitor_;
    platform::unique_fd poller_;
    wire::token token_{};
    std::vector<std::byte> hello_; ///< the topic that goes with the token
    std::string uid_;              ///< of the outlet that greeted last
    bool connected_ = false;       ///< libzmq has the address, whether or not it reached it
    bool ended_ = false;
    std::atomic<const char*> refusal_{nullptr}; ///< why the other side does not have us; a literal
    time_point retry_at_ = time_point::max();
    std::chrono::milliseconds pause_{};
    message message_;
    wire::data_parser parser_;
    std::vector<std::byte> joined_;
    bool greeted_ = false;
    bool closed_ = false;
};

} // namespace rivulet::transport::zmq
