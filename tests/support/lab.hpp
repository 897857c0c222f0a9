#pragma once

#include <rivulet/config.hpp>
#include <rivulet/context.hpp>

#include <atomic>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

/// A lab that no other test sees: a session and a beacon port of its own, on the loopback interface only.
namespace rivulet::support {

/// A UDP port that nobody uses.
inline std::uint16_t free_udp_port() {
    const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    const bool found = ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(probe);
    if (!found)
        throw std::runtime_error("no free UDP port");
    return ntohs(address.sin_port);
}

struct lab {
    config settings;

    lab() {
        static std::atomic<unsigned> next{0};
        settings.session.name = "test-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
        settings.discovery.port = free_udp_port();
        settings.discovery.multicast = false;
        settings.discovery.broadcast = false;
    }
    /// Another process, as far as discovery is concerned.
    context make_context() const { return context(settings); }
    /// For programs that are started.
    std::vector<std::string> environment() const {
        return {"RIVULET_SESSION_NAME=" + settings.session.name,
                "RIVULET_DISCOVERY_PORT=" + std::to_string(settings.discovery.port),
                "RIVULET_DISCOVERY_BEACON_INTERVAL=" + std::to_string(settings.discovery.beacon_interval.count()) +
                    "ms",
                "RIVULET_DISCOVERY_MULTICAST=false", "RIVULET_DISCOVERY_BROADCAST=false"};
    }
};

} // namespace rivulet::support
