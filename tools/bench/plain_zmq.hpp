#pragma once

#include "bench/arrival.hpp"
#include "bench/work.hpp"

#include <memory>
#include <string>
#include <vector>
#include <zmq.h>

/// The same work as loops over libzmq: XPUB (to know who is there, and with NODROP, so that nothing is lost) and SUB.
/// One socket a stream, one context, all else as libzmq has it.
namespace rivulet::tools::bench {

class plain_zmq_sender {
public:
    /// @param path of the ipc sockets, to which the stream's number is appended.
    plain_zmq_sender(const work& w, const std::string& path);
    ~plain_zmq_sender();
    plain_zmq_sender(const plain_zmq_sender&) = delete;
    plain_zmq_sender& operator=(const plain_zmq_sender&) = delete;

    const std::string& endpoints() const noexcept { return endpoints_; }
    void wait_for_consumers();
    void send(std::size_t stream, const std::byte* values, double stamp);
    /// Says that it is all; returns when the consumers have left.
    void finish();

private:
    void wait_for_changes(void* socket) const;
    void wait_for_release();

    work work_;
    void* context_;
    std::string endpoints_;
    std::vector<void*> sockets_;
    std::vector<std::uint64_t> next_;
    int released_ = -1; ///< eventfd
};

class plain_zmq_receiver {
public:
    plain_zmq_receiver(const work& w, const std::string& endpoints);
    ~plain_zmq_receiver();
    plain_zmq_receiver(const plain_zmq_receiver&) = delete;
    plain_zmq_receiver& operator=(const plain_zmq_receiver&) = delete;

    arrival receive();

private:
    struct stream_state {
        void* socket = nullptr;
        std::uint64_t next = 0;
        bool ended = false;
    };
    /// One message without waiting for it; false when there is none.
    bool take_message(stream_state& s, arrival& got, int flags);

    work work_;
    void* context_;
    std::vector<stream_state> streams_;
    std::size_t turn_ = 0;
    std::vector<std::byte> copy_;
};

} // namespace rivulet::tools::bench
