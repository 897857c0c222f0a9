#include "cable.hpp"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rivulet::support {
namespace {

struct address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

bool is_path(const std::string& endpoint) { return endpoint.find(":///") != std::string::npos; }

/// Host and port, or path: without what an encrypted endpoint says of its key.
std::string after_scheme(const std::string& endpoint) {
    const auto begin = endpoint.find("://") + 3;
    return endpoint.substr(begin, endpoint.find("?key=") - begin);
}

address address_of(const std::string& endpoint) {
    address out;
    const std::string where = after_scheme(endpoint);
    if (is_path(endpoint)) {
        sockaddr_un path{};
        path.sun_family = AF_UNIX;
        where.copy(path.sun_path, sizeof path.sun_path - 1);
        out.size = sizeof path;
        *reinterpret_cast<sockaddr_un*>(&out.storage) = path;
        return out;
    }
    const auto colon = where.rfind(':');
    sockaddr_in tcp{};
    tcp.sin_family = AF_INET;
    tcp.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where.substr(colon + 1))));
    ::inet_pton(AF_INET, where.substr(0, colon).c_str(), &tcp.sin_addr);
    out.size = sizeof tcp;
    *reinterpret_cast<sockaddr_in*>(&out.storage) = tcp;
    return out;
}

/// One direction of a connection.
struct way {
    int from = -1, to = -1;
    std::array<std::byte, 65536> bytes;
    std::size_t begin = 0, end = 0;
    bool finished = false; ///< nothing more comes
};

struct connection {
    int inner = -1, outer = -1;
    way there, back;
    bool frozen = false;
};

/// Moves what can be moved; false when the connection broke.
bool move(way& w) {
    for (;;) {
        while (w.begin < w.end) {
            const ssize_t n = ::send(w.to, w.bytes.data() + w.begin, w.end - w.begin, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0)
                return errno == EAGAIN;
            w.begin += static_cast<std::size_t>(n);
        }
        w.begin = w.end = 0;
        if (w.finished)
            return true;
        const ssize_t n = ::recv(w.from, w.bytes.data(), w.bytes.size(), MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0) {
            w.finished = true;
            ::shutdown(w.to, SHUT_WR);
            return true;
        }
        w.end = static_cast<std::size_t>(n);
    }
}

} // namespace

struct cable::state {
    std::mutex mutex;
    std::string outlet, endpoint;
    enum class mode : unsigned char { passes, cut, frozen } now = mode::passes;
    std::vector<std::unique_ptr<connection>> connections;
    int listener = -1;
    int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool stop = false;
    std::thread runner;

    void poke() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake, &one, sizeof one);
    }

    static void end(connection& c) {
        // Reset, so that nothing on its way arrives.
        const linger now{1, 0};
        for (const int fd : {c.outer, c.inner}) {
            ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            ::close(fd);
        }
    }

    void accept_one() {
        const int outer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (outer < 0)
            return;
        if (now == mode::cut) {
            ::close(outer);
            return;
        }
        address target = address_of(outlet);
        const int inner = ::socket(target.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(inner, target.get(), target.size) != 0) {
            ::close(inner);
            ::close(outer);
            return;
        }
        auto c = std::make_unique<connection>();
        c->inner = inner;
        c->outer = outer;
        c->there.from = c->back.to = outer;
        c->there.to = c->back.from = inner;
        c->frozen = now == mode::frozen;
        connections.push_back(std::move(c));
    }

    void run() {
        std::vector<pollfd> fds;
        for (;;) {
            {
                const std::lock_guard lock(mutex);
                if (stop)
                    return;
                fds.assign({{wake, POLLIN, 0}, {listener, static_cast<short>(now == mode::frozen ? 0 : POLLIN), 0}});
                for (const auto& c : connections) {
                    if (c->frozen)
                        continue;
                    for (const way* w : {&c->there, &c->back}) {
                        if (w->end > w->begin)
                            fds.push_back({w->to, POLLOUT, 0});
                        else if (!w->finished)
                            fds.push_back({w->from, POLLIN, 0});
                    }
                }
            }
            ::poll(fds.data(), fds.size(), -1);
            const std::lock_guard lock(mutex);
            std::uint64_t count = 0;
            [[maybe_unused]] const auto got = ::read(wake, &count, sizeof count);
            if (now != mode::frozen)
                accept_one();
            std::erase_if(connections, [](const auto& c) {
                if (c->frozen)
                    return false;
                const bool whole = move(c->there) && move(c->back);
                if (whole && !(c->there.finished && c->back.finished))
                    return false;
                end(*c);
                return true;
            });
        }
    }
};

cable::cable(const std::string& outlet) : state_(std::make_unique<state>()) {
    static std::atomic<unsigned> next{0};
    state& s = *state_;
    s.outlet = outlet;
    const std::string scheme = outlet.substr(0, outlet.find("://") + 3);
    const std::string at =
        is_path(outlet) ? scheme + after_scheme(outlet) + ".cable" + std::to_string(next++) : scheme + "127.0.0.1:0";
    address mine = address_of(at);
    s.listener = ::socket(mine.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::bind(s.listener, mine.get(), mine.size) != 0 || ::listen(s.listener, 100) != 0)
        throw std::runtime_error("a cable cannot listen on " + at);
    s.endpoint = at;
    if (!is_path(outlet)) {
        ::getsockname(s.listener, mine.get(), &mine.size);
        s.endpoint = scheme + "127.0.0.1:" + std::to_string(ntohs(reinterpret_cast<sockaddr_in*>(&mine)->sin_port));
    }
    s.runner = std::thread([&s] { s.run(); });
}

cable::~cable() {
    state& s = *state_;
    {
        const std::lock_guard lock(s.mutex);
        s.stop = true;
    }
    s.poke();
    s.runner.join();
    for (const auto& c : s.connections)
        state::end(*c);
    ::close(s.listener);
    ::close(s.wake);
    if (is_path(s.endpoint))
        ::unlink(after_scheme(s.endpoint).c_str());
}

const std::string& cable::endpoint() const noexcept { return state_->endpoint; }

void cable::cut() {
    const std::lock_guard lock(state_->mutex);
    state_->now = state::mode::cut;
    for (const auto& c : state_->connections)
        state::end(*c);
    state_->connections.clear();
    state_->poke();
}

void cable::freeze() {
    const std::lock_guard lock(state_->mutex);
    state_->now = state::mode::frozen;
    for (const auto& c : state_->connections)
        c->frozen = true;
    state_->poke();
}

void cable::restore() {
    const std::lock_guard lock(state_->mutex);
    state_->now = state::mode::passes;
    state_->poke();
}

void cable::lead_to(const std::string& outlet) {
    const std::lock_guard lock(state_->mutex);
    state_->outlet = outlet;
}

} // namespace rivulet::support
