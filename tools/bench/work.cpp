#include "bench/work.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace rivulet::tools::bench {

const std::vector<carrier>& all_links() {
    static const std::vector<carrier> all = {carrier::posix_tcp, carrier::posix_unix, carrier::zmq_tcp,
                                             carrier::zmq_ipc};
    return all;
}

const char* to_string(carrier c) noexcept {
    switch (c) {
    case carrier::posix_tcp: return "posix+tcp";
    case carrier::posix_unix: return "posix+unix";
    case carrier::zmq_tcp: return "zmq+tcp";
    case carrier::zmq_ipc: return "zmq+ipc";
    }
    return "";
}

const char* to_string(way w) noexcept {
    switch (w) {
    case way::async: return "async";
    case way::async_wait: return "async-wait";
    case way::sync: return "sync";
    case way::plain: return "plain";
    case way::plain_batched: return "plain-batched";
    case way::zmq_copied: return "libzmq-copied";
    case way::zmq_zero_copy: return "libzmq-zero-copy";
    case way::zmq_released: return "libzmq-released";
    case way::nothing: return "nothing";
    }
    return "";
}

std::string own_endpoint(carrier c, const std::string& path) {
    const bool host = c == carrier::posix_tcp || c == carrier::zmq_tcp;
    return std::string(to_string(c)) + "://" + (host ? "127.0.0.1:*" : path);
}

std::string own_source_id(std::uint64_t number) { return fmt::format("stream-bench-{}-{}", ::getpid(), number); }

way baseline_of(way w, carrier c) noexcept {
    if (!is_zmq(c))
        return way::plain;
    return w == way::sync ? way::zmq_released : way::zmq_zero_copy;
}

} // namespace rivulet::tools::bench
