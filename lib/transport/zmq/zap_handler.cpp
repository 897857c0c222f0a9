#include "transport/zmq/zap_handler.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <pthread.h>
#include <string>
#include <string_view>
#include <system_error>
#include <zmq.h>

namespace rivulet::transport::zmq {
namespace {

constexpr const char* place = "inproc://zeromq.zap.01";
constexpr std::string_view version = "1.0";
enum part : std::size_t { request_version, request_id, domain, address, identity, mechanism, credentials, parts };

/// A request; of libzmq's own making, so with few and short parts. Takes no memory of its own.
class request {
public:
    request() {
        for (zmq_msg_t& part : parts_)
            ::zmq_msg_init(&part);
    }
    ~request() {
        for (zmq_msg_t& part : parts_)
            ::zmq_msg_close(&part);
    }
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    /// False when the context is shut down.
    bool receive(void* socket) noexcept {
        used_ = 0;
        for (bool more = true; more;) {
            zmq_msg_t& part = parts_[std::min(used_, parts_.size() - 1)];
            if (::zmq_msg_recv(&part, socket, 0) < 0) {
                if (::zmq_errno() == ETERM)
                    return false;
                continue;
            }
            ++used_;
            more = ::zmq_msg_more(&part) != 0;
        }
        return true;
    }
    std::size_t size() const noexcept { return used_; }
    std::string_view operator[](part which) noexcept {
        if (which >= used_)
            return {};
        return {static_cast<const char*>(::zmq_msg_data(&parts_[which])), ::zmq_msg_size(&parts_[which])};
    }

private:
    std::array<zmq_msg_t, parts + 1> parts_;
    std::size_t used_ = 0;
};

void send(void* socket, std::string_view text, bool more) noexcept {
    ::zmq_send(socket, text.data(), text.size(), more ? ZMQ_SNDMORE : 0);
}

} // namespace

zap_handler::zap_handler(const zmq_runtime& runtime, std::shared_ptr<const security::keyring> keys,
                         std::shared_ptr<platform::logger> log)
    : keys_(std::move(keys)), log_(std::move(log)) {
    zmq_socket socket(runtime, ZMQ_REP);
    if (::zmq_bind(socket.get(), place) != 0)
        throw error(errc::system, "ZeroMQ: cannot answer for who may connect: " + last_reason());
    try {
        thread_ = std::thread([this, mine = std::move(socket)]() mutable { run(std::move(mine)); });
    } catch (const std::system_error& e) {
        throw error(errc::system, std::string("ZeroMQ: cannot start the thread rivulet-zap: ") + e.what());
    }
}

/// Must not end before the context is shut down, whatever happens: libzmq would let everybody in.
void zap_handler::run(zmq_socket socket) const noexcept {
    ::pthread_setname_np(::pthread_self(), "rivulet-zap");
    for (request asked; asked.receive(socket.get());) {
        const bool admitted = admits(asked[address], asked[mechanism], asked[credentials]) && asked.size() == parts &&
                              asked[request_version] == version;
        send(socket.get(), version, true);
        send(socket.get(), asked[request_id], true);
        send(socket.get(), admitted ? "200" : "400", true);
        send(socket.get(), admitted ? "OK" : "this key is not let in", true);
        send(socket.get(), "", true);  // user id
        send(socket.get(), "", false); // metadata
    }
}

bool zap_handler::admits(std::string_view address, std::string_view mechanism,
                         std::string_view credentials) const noexcept {
    security::key_bytes key{};
    if (mechanism != "CURVE" || credentials.size() != key.size())
        return false;
    std::memcpy(key.data(), credentials.data(), key.size());
    if (keys_->admits(key))
        return true;
    try {
        log_->warn("key_refused", {{"key", security::id_of(key)}, {"address", address}},
                   "somebody tried to connect whose key is not let in; add its public key to [security] clients if you "
                   "trust it");
    } catch (const std::bad_alloc&) { // nobody hears of it, but he is not let in
    }
    return false;
}

} // namespace rivulet::transport::zmq
