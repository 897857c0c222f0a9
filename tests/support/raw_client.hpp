#pragma once

#include <rivulet/outlet.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace rivulet::support {

/// A connection that knows nothing of any protocol.
class raw_client {
public:
    /// Of an outlet's data.
    explicit raw_client(const outlet& out) : raw_client(out.endpoints().front()) {}
    /// @param endpoint of any scheme over TCP, with an address or * for this host.
    explicit raw_client(const std::string& endpoint) {
        const auto host = endpoint.find("://") + 3, port = endpoint.rfind(':');
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(port + 1))));
        const std::string name = endpoint.substr(host, port - host);
        ::inet_pton(AF_INET, name == "*" ? "127.0.0.1" : name.c_str(), &address.sin_addr);
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
            throw std::runtime_error("cannot connect to " + endpoint);
    }
    ~raw_client() { ::close(socket_); }
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    /// Sends as much as the other side takes before it hangs up.
    void send(std::string_view bytes) const {
        timeval limit{2, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                return;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    std::string receive(std::size_t bytes) const {
        timeval limit{10, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        std::string text(bytes, '\0');
        const ssize_t got = ::recv(socket_, text.data(), bytes, MSG_WAITALL);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }
    /// Makes the close a reset.
    void reset_on_close() const {
        const linger off{1, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
    }

private:
    int socket_ = -1;
};

inline std::string random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::string bytes(count, '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(random());
    return bytes;
}

} // namespace rivulet::support
