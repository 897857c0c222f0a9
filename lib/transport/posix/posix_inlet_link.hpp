#pragma once

#include "platform/unique_fd.hpp"
#include "transport/endpoint.hpp"
#include "transport/posix/socket.hpp"
#include "transport/transport.hpp"
#include "wire/frame.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace rivulet::transport::posix {

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment);

/// One connection of an inlet, made again whenever it ends (50 ms later, doubling to 1 s), to go on where it ended. It
/// says hello first; the info frame that the outlet sends to everybody is passed over, the second one is the greeting.
/// fd() is an epoll descriptor, so that it stays the same over reconnects. Threads: one at a time (the pump lock).
class posix_inlet_link final : public inlet_link {
public:
    posix_inlet_link(const transport::endpoint& where, const inlet_environment& environment);
    ~posix_inlet_link() override { close(); }

    int fd() const noexcept override { return poller_.get(); }
    bool pump(time_point now, std::size_t max_frames) override;
    bool pump_asleep(time_point now, time_point until, std::size_t max_frames) override;
    void interrupt() noexcept override;
    time_point next_turn() const noexcept override { return retry_at_; }
    void reconnect(time_point now) override;
    void close() override;

private:
    enum class phase : std::uint8_t { waiting, connecting, open, done };

    void start_connecting(time_point now);
    void finish_connecting(time_point now);
    void opened(time_point now);
    void lost(time_point now);
    void watch(std::uint32_t events);
    bool receive(time_point now, std::size_t max_frames);
    void replace_socket(platform::unique_fd fresh);
    bool sleep_at_most(std::chrono::nanoseconds longest);
    int receive_flags() const noexcept;
    bool read_more();
    /// Handles frames that are complete in the buffer; false when the sink has no room.
    bool handle_buffered(std::size_t& budget, time_point now);
    void handle(wire::bytes_view frame, time_point now);
    bool begin_direct(std::size_t frame_bytes);
    bool read_direct();
    void received(std::size_t bytes, std::size_t asked) noexcept;
    void make_room();

    const inlet_environment environment_;
    const transport::endpoint where_;
    const std::vector<socket_address> addresses_;
    platform::unique_fd poller_;
    std::mutex socket_mutex_; ///< held where socket_ changes, and by others than the pumping thread
    platform::unique_fd socket_;
    phase phase_ = phase::waiting;
    std::uint32_t watched_ = 0;
    std::size_t next_address_ = 0;
    time_point retry_at_ = time_point::min();
    std::chrono::milliseconds pause_{};
    int infos_ = 0; ///< of this connection
    wire::data_parser parser_;
    wire::bytes_view early_;                  ///< of that, what came with the head and lies in the buffer
    std::size_t pumped_ = 0;                  ///< bytes received by this pump
    bool drained_ = false;                    ///< by this pump: the kernel has no more
    bool may_sleep_ = false;                  ///< this pump, as long as it has delivered nothing
    std::chrono::milliseconds sleep_limit_{}; ///< of the socket's receives; 0: they do not sleep
    std::size_t direct_left_ = 0;             ///< bytes of a payload that go straight to the sink
    bool large_frames_ = false;               ///< the last data frame was worth it: read little ahead
    // Received bytes [begin_, end_).
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace rivulet::transport::posix
