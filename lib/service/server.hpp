#pragma once

#include "samples/sample_log.hpp"
#include "transport/service_link.hpp"

#include <rivulet/control.hpp>
#include <rivulet/outlet.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::transport {
class io_context;
}

namespace rivulet::service {

/// A control message on its way through an outlet. Answered once; what is never answered times out at the asker.
/// Threads: any, one at a time.
class control_call {
public:
    control_request request;

    void done(const control_reply& reply) const;
    /// Nobody handled it. @param status busy, no_handler, unavailable or failed.
    void refuse(control_status status, std::string_view text) const;

private:
    friend class server;
    std::shared_ptr<transport::service_listener> link_;
    transport::asker asker_ = 0;
};

/// What an outlet shows to those who ask. Called on the I/O thread; must not block.
class target {
public:
    virtual ~target() = default;
    /// The info frame with the whole metadata tree.
    virtual std::shared_ptr<const std::vector<std::byte>> info_frame() = 0;
    virtual outlet_stats stats() const = 0;

    struct history {
        std::shared_ptr<samples::sample_log> log; ///< null: none is kept
        std::uint64_t base = 0;                   ///< position in the log, modulo 2^64, of the sample number 0
        std::string uid;                          ///< of the samples
        std::uint64_t begin = 0;                  ///< position of the first of them
    };
    virtual history kept() const = 0;
    /// @return what is to be called when the server has let go of its lock, also if the target is removed meanwhile;
    /// may be empty.
    virtual std::function<void()> on_control(control_call call) = 0;
};

/// Answers the requests for all outlets of a context, on as many listeners as their schemes and hosts need. Its
/// listeners close with the last outlet that needs them.
/// Threads: any; requests are answered on the I/O thread, under the mutex, so that remove() ends all calls.
class server final : public transport::request_sink {
public:
    explicit server(transport::io_context& io) : io_(io) {}

    /// A share in a listener.
    using lease = std::shared_ptr<const transport::service_listener>;
    /// The listener for data served on `endpoint` (as the outlet was asked to listen), opened if there is none yet.
    /// nullptr, and a warning in the log: it cannot be opened.
    lease open_for(std::string_view endpoint);

    /// From now on requests that name `uid` are for `who`, who may have several.
    void add(const std::string& uid, target& who);
    /// Requests that name this uid find nobody.
    void forget(const std::string& uid);
    /// When it returns, `who` is not called any more. Not from within a call of his.
    void remove(target& who);

    void on_request(transport::service_listener& link, transport::asker from, wire::bytes_view frame) override;

private:
    transport::io_context& io_;
    std::mutex listeners_mutex_;
    std::map<std::string, std::weak_ptr<const transport::service_listener>> listeners_;
    std::mutex mutex_;
    std::map<std::string, target*, std::less<>> targets_;
};

} // namespace rivulet::service
