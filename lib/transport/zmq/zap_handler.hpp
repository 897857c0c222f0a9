#pragma once

#include "platform/log.hpp"
#include "security/keyring.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <memory>
#include <string_view>
#include <thread>

namespace rivulet::transport::zmq {

/// Answers libzmq's question, by ZAP (ZeroMQ's RFC 27), whether somebody with this key may connect: one thread
/// ("rivulet-zap") and one socket a libzmq context. libzmq lets everybody in where there is none, so it lives
/// from before the first CURVE server to the end of the context.
class zap_handler {
public:
    /// @throws error system, limit_exceeded.
    zap_handler(const zmq_runtime& runtime, std::shared_ptr<const security::keyring> keys,
                std::shared_ptr<platform::logger> log);
    /// Waits for the thread, which ends when the context is shut down: after zmq_ctx_shutdown.
    ~zap_handler() { thread_.join(); }
    zap_handler(const zap_handler&) = delete;
    zap_handler& operator=(const zap_handler&) = delete;

private:
    void run(zmq_socket socket) const noexcept;
    bool admits(std::string_view address, std::string_view mechanism, std::string_view credentials) const noexcept;

    const std::shared_ptr<const security::keyring> keys_;
    const std::shared_ptr<platform::logger> log_;
    std::thread thread_;
};

} // namespace rivulet::transport::zmq
