// What only plain sockets have to show: options of the sockets, system calls, and connections that are no consumers.
#include "child_process.hpp"
#include "counter_stream.hpp"
#include "links.hpp"
#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace {

std::atomic<std::uint64_t> sendmsg_calls{0};

} // namespace

/// In front of the C library's: every call of the process goes through here.
extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    using function = ssize_t (*)(int, const msghdr*, int);
    static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "sendmsg"));
    sendmsg_calls.fetch_add(1);
    return next(fd, message, flags);
}

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::push_and_pull;
using support::serve_counter;
using waiting::eventually;

const std::string any_tcp = "posix+tcp://127.0.0.1:*";

std::uint16_t port_of(const outlet& out) {
    const std::string endpoint = out.endpoints().front();
    return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

int raw_connection(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

/// Calls f with each connected TCP socket of this process that has `port` on one side.
template<class F>
int for_each_connection(std::uint16_t port, F f) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename());
        sockaddr_in mine{}, peer{};
        socklen_t mine_size = sizeof mine, peer_size = sizeof peer;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&mine), &mine_size) != 0 || mine.sin_family != AF_INET ||
            ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
            continue;
        if (ntohs(mine.sin_port) == port || ntohs(peer.sin_port) == port) {
            ++found;
            f(fd);
        }
    }
    return found;
}

int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

TEST(PosixSockets, NoDelayIsSetOnBothEnds) {
    outlet out = serve_counter(any_tcp);
    const inlet in(out.endpoints().front());
    EXPECT_EQ(for_each_connection(port_of(out), [](int fd) { EXPECT_NE(option(fd, IPPROTO_TCP, TCP_NODELAY), 0); }), 2);
}

TEST(PosixSockets, BuffersAreThoseOfTheConfiguration) {
    config settings = parse_config("[sockopts]\nsndbuf = 131072\nrcvbuf = 262144\npriority = 3\n", "test");
    const context ctx(settings);
    outlet out = serve_counter(any_tcp, {.ctx = ctx});
    const inlet in(out.endpoints().front(), {.ctx = ctx});
    EXPECT_EQ(for_each_connection(port_of(out),
                                  [](int fd) {
                                      EXPECT_EQ(option(fd, SOL_SOCKET, SO_SNDBUF), 131072);
                                      EXPECT_EQ(option(fd, SOL_SOCKET, SO_RCVBUF), 262144);
                                      EXPECT_EQ(option(fd, SOL_SOCKET, SO_PRIORITY), 3);
                                  }),
              2);
}

TEST(PosixSockets, OneSendmsgAFrameInSyncMode) {
    outlet out = serve_counter(any_tcp, {.mode = delivery::sync});
    inlet in(out.endpoints().front());
    ASSERT_TRUE(out.wait_for_consumers(waiting::patience));
    std::uint64_t pushed = 0;
    push_and_pull(out, pushed, {&in}, 100); // both infos are out
    const std::uint64_t before = sendmsg_calls.load();
    for (int i = 0; i < 50; ++i)
        push_and_pull(out, pushed, {&in}, 100);
    EXPECT_EQ(sendmsg_calls.load() - before, 50u);
}

TEST(PosixSockets, OneSendmsgAFrameInAsyncMode) {
    outlet out = serve_counter(any_tcp);
    inlet in(out.endpoints().front());
    std::uint64_t pushed = 0;
    push_and_pull(out, pushed, {&in}, 100);
    const std::uint64_t before = sendmsg_calls.load();
    const std::uint64_t frames = in.stats().frames;
    for (int i = 0; i < 50; ++i)
        push_and_pull(out, pushed, {&in}, 100);
    EXPECT_EQ(sendmsg_calls.load() - before, in.stats().frames - frames);
}

TEST(PosixSockets, FramesLargerThanTheSocketBufferArriveWhole) {
    const context ctx(parse_config("[sockopts]\nsndbuf = 8192\nrcvbuf = 8192\n", "test"));
    for (const delivery mode : {delivery::async, delivery::sync}) {
        constexpr std::size_t room = 64u << 20;
        outlet out = serve_counter(any_tcp, {.mode = mode, .buffer = room, .ctx = ctx});
        inlet in(out.endpoints().front(), {.max_buffered = room, .ctx = ctx});
        std::uint64_t pushed = 0;
        const std::jthread pusher([&] { out.push_chunk(std::vector<std::int64_t>(1u << 20, 7)); });
        std::vector<std::int64_t> values;
        std::vector<double> stamps;
        while (pushed < 1u << 20) {
            const pull_result got = in.pull_chunk(values, stamps, waiting::patience);
            ASSERT_TRUE(got);
            ASSERT_EQ(got.first_sequence, pushed);
            ASSERT_TRUE(std::ranges::all_of(values, [](std::int64_t v) { return v == 7; }));
            pushed += got.samples;
        }
    }
}

TEST(PosixSockets, AClientThatOnlyConnectsAndReadsGetsInfoAndData) {
    outlet out = serve_counter(any_tcp);
    support::child_process client({PYTHON, PLAIN_TCP, out.endpoints().front()});
    ASSERT_EQ(client.line(), "info counter");
    for (std::int64_t i = 0; i < 10; ++i) {
        out.push_sample(i * 11);
        EXPECT_EQ(client.line(), std::to_string(i) + " " + std::to_string(i * 11));
    }
    EXPECT_EQ(out.consumer_count(), 0u) << "it never said hello";
    out.stop();
    EXPECT_EQ(client.line(), "end 10");
}

TEST(PosixSockets, FiveHundredSilentConnectionsDelayNobody) {
    for (const delivery mode : {delivery::async, delivery::sync}) {
        outlet out = serve_counter(any_tcp, {.mode = mode});
        std::vector<int> silent;
        for (int i = 0; i < 500; ++i)
            silent.push_back(raw_connection(port_of(out)));
        inlet in(out.endpoints().front());
        std::uint64_t pushed = 0;
        const support::memory_mark before;
        for (int i = 0; i < 200; ++i)
            push_and_pull(out, pushed, {&in});
        EXPECT_TRUE(before.grew_at_most(128u << 20));
        EXPECT_EQ(out.consumer_count(), 1u);
        for (const int fd : silent)
            ::close(fd);
    }
}

TEST(PosixSockets, AHelloThatDripsInIsStillAHelloAndGarbageIsNone) {
    outlet out = serve_counter(any_tcp);
    inlet in(out.endpoints().front());
    std::uint64_t pushed = 0;
    const int garbage = raw_connection(port_of(out));
    const int drip = raw_connection(port_of(out));
    ASSERT_GT(::send(garbage, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    std::string hello{'\0', '\0', '\0', '\x11', '\xC0'};
    hello += "0123456789abcdef";
    for (const char byte : hello) {
        ASSERT_EQ(::send(drip, &byte, 1, MSG_NOSIGNAL), 1);
        push_and_pull(out, pushed, {&in}, 10);
    }
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 2; }));
    EXPECT_TRUE(eventually([&] { return out.stats().ignored == 1; })) << "the garbage was dropped, and counted";
    char byte = 0;
    timeval limit{30, 0};
    ::setsockopt(garbage, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t n = 1;
    while (n > 0)
        n = ::recv(garbage, &byte, 1, 0);
    EXPECT_TRUE(n == 0 || errno == ECONNRESET) << "it was disconnected";
    ::close(garbage);
    ::close(drip);
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 1; }));
}

TEST(PosixSockets, AThousandOutletsRunOnAHandfulOfThreads) {
    constexpr std::size_t many = 1000;
    std::vector<outlet> outs;
    std::vector<inlet> ins;
    for (std::size_t i = 0; i < many; ++i) {
        outs.push_back(serve_counter(any_tcp));
        ins.emplace_back(outs.back().endpoints().front());
    }
    for (outlet& out : outs)
        out.push_sample(std::int64_t{42});
    for (inlet& in : ins) {
        std::int64_t value = 0;
        double stamp = 0;
        ASSERT_TRUE(in.pull_sample(value, stamp, waiting::patience));
        ASSERT_EQ(value, 42);
    }
    const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    EXPECT_LE(threads, 8);
}

TEST(PosixSockets, SeveralEndpointsCountEachConsumerOnce) {
    const std::string path = (links::scratch_folder::path() / links::serial()).string();
    outlet out({.name = "counter", .format = channel_format::int64},
               {.endpoints = {"zmq+tcp://127.0.0.1:*", "posix+unix://" + path, any_tcp}});
    const auto endpoints = out.endpoints();
    ASSERT_EQ(endpoints.size(), 3u);
    std::vector<inlet> ins;
    for (const std::string& endpoint : endpoints)
        ins.emplace_back(endpoint);
    EXPECT_TRUE(out.wait_for_consumers(waiting::patience, 3));
    EXPECT_EQ(out.consumer_count(), 3u);
    std::uint64_t pushed = 0;
    push_and_pull(out, pushed, {&ins[0], &ins[1], &ins[2]});
    ins.clear();
    EXPECT_TRUE(eventually([&] { return out.consumer_count() == 0; }));
}

TEST(PosixSockets, SctpWorksOrIsRefusedByName) {
    if (links::kernel_has_sctp()) {
        outlet out = serve_counter("posix+sctp://127.0.0.1:*");
        inlet in(out.endpoints().front());
        std::uint64_t pushed = 0;
        push_and_pull(out, pushed, {&in});
        return;
    }
    try {
        serve_counter("posix+sctp://127.0.0.1:*");
        FAIL() << "this kernel has no SCTP";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::not_supported);
        EXPECT_NE(std::string(e.what()).find("SCTP"), std::string::npos) << e.what();
    }
}

// --- unix sockets ---------------------------------------------------------------------------------------------------

class PosixUnixSockets : public ::testing::Test {
protected:
    const std::string path_ = (links::scratch_folder::path() / links::serial()).string();
    const std::string endpoint_ = "posix+unix://" + path_;

    errc refusal() {
        try {
            serve_counter(endpoint_);
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(path_), std::string::npos) << e.what();
            return static_cast<errc>(e.code().value());
        }
        ADD_FAILURE() << "it was not refused";
        return {};
    }
};

TEST_F(PosixUnixSockets, HaveTheConfiguredMode) {
    struct stat what {};
    {
        const outlet out = serve_counter(endpoint_);
        ASSERT_EQ(::stat(path_.c_str(), &what), 0);
        EXPECT_EQ(what.st_mode & 0777u, 0660u);
    }
    EXPECT_NE(::stat(path_.c_str(), &what), 0) << "nothing is left behind";
    const context ctx(parse_config("[posix]\nmode = \"0600\"\n", "test"));
    const outlet out = serve_counter(endpoint_, {.ctx = ctx});
    ASSERT_EQ(::stat(path_.c_str(), &what), 0);
    EXPECT_EQ(what.st_mode & 0777u, 0600u);
}

TEST_F(PosixUnixSockets, AStalePathIsTakenOver) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    const int crashed = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(crashed, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(crashed, 1), 0);
    ::close(crashed); // leaves the path
    outlet out = serve_counter(endpoint_);
    inlet in(endpoint_);
    std::uint64_t pushed = 0;
    push_and_pull(out, pushed, {&in});
}

TEST_F(PosixUnixSockets, ALivePathIsRefusedAndGoesOnWorking) {
    outlet out = serve_counter(endpoint_);
    EXPECT_EQ(refusal(), errc::address_in_use);
    inlet in(endpoint_);
    std::uint64_t pushed = 0;
    push_and_pull(out, pushed, {&in});
}

TEST_F(PosixUnixSockets, AFileThatIsNoSocketIsNeverUnlinked) {
    std::ofstream(path_) << "precious";
    EXPECT_EQ(refusal(), errc::bad_endpoint);
    std::string text;
    std::ifstream(path_) >> text;
    EXPECT_EQ(text, "precious");
}

TEST_F(PosixUnixSockets, ALongPathSaysHowLongItMayBe) {
    try {
        serve_counter("posix+unix:///" + std::string(200, 'x'));
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::path_too_long);
        EXPECT_NE(std::string(e.what()).find("107"), std::string::npos) << e.what();
    }
}

} // namespace
} // namespace rivulet
