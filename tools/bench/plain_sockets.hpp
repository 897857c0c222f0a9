#pragma once

#include "bench/arrival.hpp"
#include "bench/plain_framing.hpp"
#include "bench/work.hpp"

#include <span>
#include <string>
#include <vector>

/// The same work as loops over sockets: TCP_NODELAY, blocking, one writev a chunk and consumer. One listener a stream.
namespace rivulet::tools::bench {

class plain_sender {
public:
    /// @param path of the Unix sockets, to which the stream's number is appended.
    plain_sender(const work& w, const std::string& path);
    ~plain_sender();
    plain_sender(const plain_sender&) = delete;
    plain_sender& operator=(const plain_sender&) = delete;

    /// The streams' endpoints with spaces in between: a path, or a port of 127.0.0.1.
    const std::string& endpoints() const noexcept { return endpoints_; }
    void wait_for_consumers();
    void send(std::size_t stream, const std::byte* values, double stamp);
    /// The first consumer of the first stream.
    int peer() const { return streams_.front().peers.front(); }
    /// Sends what was gathered and says that it is all.
    void finish();

private:
    struct stream_state {
        int listener = -1;
        std::vector<int> peers;
        std::uint64_t next = 0;
        std::vector<std::byte> gathered;
    };
    void write_all(int fd, std::span<const std::byte> head, std::span<const std::byte> payload) const;
    void flush(stream_state& s) const;

    work work_;
    std::string endpoints_;
    std::vector<stream_state> streams_;
};

class plain_receiver {
public:
    plain_receiver(const work& w, const std::string& endpoints);
    ~plain_receiver();
    plain_receiver(const plain_receiver&) = delete;
    plain_receiver& operator=(const plain_receiver&) = delete;

    /// The next frame of any stream; waits for it.
    arrival receive();
    /// Of the frame that came last, with work::copy_out.
    std::span<const std::byte> payload() const noexcept { return copy_; }
    /// The first stream's sender.
    int peer() const { return streams_.front().fd; }

private:
    struct stream_state {
        int fd = -1;
        std::vector<std::byte> buffer;
        std::size_t begin = 0, end = 0; ///< what has come and is not parsed
        std::uint64_t next = 0;
        bool ended = false;
    };
    bool take_frame(stream_state& s, arrival& got);
    void read_more(stream_state& s);
    stream_state& wait_for_any();

    work work_;
    std::vector<stream_state> streams_;
    std::size_t turn_ = 0;
    std::vector<std::byte> copy_;
};

} // namespace rivulet::tools::bench
