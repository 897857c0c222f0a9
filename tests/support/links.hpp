#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <ostream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

/// The links that every promise is checked over, as values of a parameterised suite: a suite compiles once, however
/// many there are. A new one is one line here and its name in the lists at the end.
namespace rivulet::links {

/// Tells endpoints of one process apart.
inline std::string serial() {
    static std::atomic<unsigned> next{0};
    return std::to_string(::getpid()) + "-" + std::to_string(next++);
}

/// A folder of this process for socket paths, removed with all that is in it when the process exits.
class scratch_folder {
public:
    static const std::filesystem::path& path() {
        static const scratch_folder folder;
        return folder.path_;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

private:
    scratch_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "rivulet-XXXXXX").string();
        if (!::mkdtemp(name.data()))
            throw std::runtime_error("cannot make the folder " + name);
        path_ = name;
    }
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::filesystem::path path_;
};

/// host:port that nobody uses. The address is this process's own corner of 127.0.0.0/8: processes that run beside this
/// one cannot take the port between the probe and its use.
inline std::string free_tcp_address() {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0x7F010001u + (pid & 0xFFFFu) * 4u);
    socklen_t size = sizeof(address);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool found = ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(probe);
    if (!found)
        throw std::runtime_error("no free TCP port on the loopback interface");
    char host[INET_ADDRSTRLEN];
    ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
    return std::string(host) + ":" + std::to_string(ntohs(address.sin_port));
}

inline std::string fresh_name() { return "inproc://contract-" + serial(); }
inline std::string fresh_path() { return (scratch_folder::path() / serial()).string(); }

/// One way to connect an outlet with its inlets.
struct link {
    std::string name;
    std::function<std::string()> any;   ///< a fresh endpoint to listen on
    std::function<std::string()> fixed; ///< a fresh one known before anybody listens: connect to it first, or again
};

inline link tcp_link(const std::string& family) {
    return {family + "_tcp", [=] { return family + "+tcp://127.0.0.1:*"; },
            [=] { return family + "+tcp://" + free_tcp_address(); }};
}
inline link path_link(const std::string& name, const std::string& prefix) {
    const auto fresh = [=] { return prefix + fresh_path(); };
    return {name, fresh, fresh};
}

inline const link inproc{"inproc", fresh_name, fresh_name};
inline const link zmq_tcp = tcp_link("zmq");
inline const link zmq_ipc = path_link("zmq_ipc", "zmq+ipc://");
inline const link posix_tcp = tcp_link("posix");
inline const link posix_unix = path_link("posix_unix", "posix+unix://");
inline const link posix_sctp{"posix_sctp", [] { return "posix+sctp://127.0.0.1:*"; },
                             [] { return "posix+sctp://" + free_tcp_address(); }};

/// Modules and containers decide about SCTP; where the kernel lacks it, no suite runs over it.
inline bool kernel_has_sctp() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);
    if (probe >= 0)
        ::close(probe);
    return probe >= 0;
}
inline std::vector<link> with_sctp(std::vector<link> links) {
    if (kernel_has_sctp())
        links.push_back(posix_sctp);
    return links;
}

/// Every link.
inline const std::vector<link> all = with_sctp({inproc, zmq_tcp, zmq_ipc, posix_tcp, posix_unix});
/// Those that other processes can use.
inline const std::vector<link> between_processes = with_sctp({zmq_tcp, zmq_ipc, posix_tcp, posix_unix});
/// Those that any ZeroMQ program can reach.
inline const std::vector<link> zmq{zmq_tcp, zmq_ipc};
/// Those that a raw TCP client can reach.
inline const std::vector<link> tcp{zmq_tcp, posix_tcp};

inline std::ostream& operator<<(std::ostream& out, const link& l) { return out << l.name; }
/// Names the instances of a suite.
inline std::string name_of(const ::testing::TestParamInfo<link>& info) { return info.param.name; }

} // namespace rivulet::links
