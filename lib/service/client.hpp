#pragma once

#include "platform/reactor.hpp"
#include "transport/service_link.hpp"
#include "wire/service_frame.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::transport {
class io_context;
}

namespace rivulet::service {

class time_keeper;

/// How a call ended.
enum class outcome : std::uint8_t {
    replied,
    timed_out,   ///< it was sent, or still waited to be
    broken,      ///< it was sent, then the connection ended: whether it was carried out is unknown
    unreachable, ///< never sent: nobody answers there, or too many calls wait already
    cancelled    ///< by cancel() or close()
};

/// One server as seen from a context; shared by all of its inlets. Connects at the first call, and again at the next
/// one after the connection has ended; nothing is ever sent twice. Every call ends, once, at its deadline at the
/// latest.
///
/// Threads: any may call. Completions run on the I/O thread (those that are cancelled: on the cancelling thread), one
/// at a time, without a lock; they may let go of the client. Made by a client_pool.
class client final : public transport::reply_sink,
                     public platform::io_handler,
                     public std::enable_shared_from_this<client> {
public:
    /// @param addresses of the one server, best first; not empty. @param max_reply_bytes longest reply taken.
    client(transport::io_context& io, std::vector<transport::endpoint> addresses, std::size_t max_reply_bytes);
    ~client() override;

    /// `reply`, for outcome replied, is valid during the call; `at`: local_clock() when it came.
    using completion = std::function<void(outcome how, const wire::service_reply* reply, double at)>;
    /// @param request its id is chosen here; `data` is copied. A request for the time gets its t1 when it is sent.
    /// @param owner whoever may cancel it. @throws error limit_exceeded: data too large.
    void call(const void* owner, wire::service_request request, platform::time_point deadline, completion done);
    /// Ends all calls of this owner; when it returns, none of their completions runs (unless on this very thread).
    void cancel(const void* owner);
    void close();

    /// The server's clock.
    time_keeper& time() noexcept { return *time_; }
    const std::vector<transport::endpoint>& addresses() const noexcept { return addresses_; }

    void on_open() override;
    void on_reply(wire::bytes_view frame) override;
    void on_broken(std::string_view reason) override;
    void on_ready(int, std::uint32_t) override {}
    void on_turn(platform::time_point now) override;

private:
    struct pending {
        const void* owner = nullptr;
        platform::time_point deadline;
        completion done;
        wire::service_request request; ///< until it is sent
        std::vector<std::byte> data;   ///< of that
        bool sent = false;
        std::optional<outcome> fate; ///< known already; the I/O thread tells
    };
    using calls = std::map<std::uint64_t, pending>;

    void connect_locked();
    void send_locked(std::uint64_t id, pending& call);
    void give_up_locked();
    void finish(pending& call, outcome how, const wire::service_reply* reply, double at);

    transport::io_context& io_;
    const std::vector<transport::endpoint> addresses_;
    const std::size_t max_reply_bytes_;

    std::mutex mutex_;
    std::condition_variable idle_;
    calls calls_;
    std::uint64_t next_id_ = 1;
    enum class phase : std::uint8_t { idle, connecting, open, closed } phase_ = phase::idle;
    std::size_t address_ = 0; ///< that is tried, or was last
    std::size_t tried_ = 0;   ///< addresses tried since the last success
    std::shared_ptr<transport::service_connection> link_;
    const void* running_ = nullptr; ///< owner whose completion runs on the I/O thread
    std::unique_ptr<time_keeper> time_;
};

/// The clients of a context: one for each server.
class client_pool {
public:
    explicit client_pool(transport::io_context& io) : io_(io) {}
    std::shared_ptr<client> get(std::vector<transport::endpoint> addresses);

private:
    transport::io_context& io_;
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<client>> clients_;
};

} // namespace rivulet::service
