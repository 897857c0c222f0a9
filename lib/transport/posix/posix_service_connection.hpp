#pragma once

#include "platform/reactor.hpp"
#include "transport/posix/framed_stream.hpp"
#include "transport/service_link.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace rivulet::transport::posix {

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes);

/// One stream socket to a service. Threads: mutex_ guards the socket; the sink is called by the I/O thread without it.
class posix_service_connection final : public service_connection, public platform::io_handler {
public:
    posix_service_connection(const endpoint& where, io_context& io, reply_sink& sink, std::size_t max_reply_bytes);
    ~posix_service_connection() override { close(); }

    /// Once, when it is owned: from here on the I/O thread calls. @throws error not_supported, system.
    void start();

    bool send(std::vector<std::byte> frame) override;
    void close() override;

    void on_ready(int fd, std::uint32_t events) override;
    void on_turn(platform::time_point now) override;

private:
    enum class phase : std::uint8_t { connecting, open, broken, closed };

    void finish_connecting();
    void deliver();
    void break_off(const char* reason);
    void tell_broken();
    void watch_as_needed();

    io_context& io_;
    reply_sink& sink_;
    const endpoint where_;
    const std::size_t max_reply_bytes_;

    std::mutex mutex_;
    std::optional<framed_stream> stream_;
    phase phase_ = phase::connecting;
    std::uint32_t watched_ = 0;
    const char* reason_ = "";
    bool told_ = false; ///< on_broken was called
};

} // namespace rivulet::transport::posix
