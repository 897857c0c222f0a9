// test_source ENDPOINT async|sync wait|drop flood|idle|deaf: the publisher of a counter stream, for tests.
//
// Prints its endpoint, then "connected" when a consumer is there. `flood` pushes as fast as it can, `idle` nothing
// more, `deaf` takes control messages, saying "asked", and never answers. SIGTERM stops the outlet; then it prints
// "stopped" and exits with 0.
#include <rivulet/rivulet.hpp>

#include <csignal>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace std::chrono_literals;

void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

void flood(rivulet::outlet& out) {
    std::vector<std::int64_t> chunk(10'000);
    for (std::int64_t first = 0;; first += static_cast<std::int64_t>(chunk.size())) {
        std::iota(chunk.begin(), chunk.end(), first);
        out.push_chunk(chunk);
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 5)
        return 2;
    const std::string endpoint = arguments[1], mode = arguments[2], full = arguments[3], what = arguments[4];
    // The handling thread takes the signal; all others, the library's too, inherit the mask.
    sigset_t termination;
    sigemptyset(&termination);
    sigaddset(&termination, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &termination, nullptr);

    rivulet::outlet_options options;
    options.endpoints = {endpoint};
    options.mode = mode == "sync" ? rivulet::delivery::sync : rivulet::delivery::async;
    options.full = full == "wait" ? rivulet::on_full::wait : rivulet::on_full::drop_oldest;
    options.buffer = std::size_t{4} << 20;
    options.send_timeout = rivulet::forever;
    rivulet::outlet out({.name = "source", .format = rivulet::channel_format::int64}, options);
    std::thread terminator([&] {
        int number = 0;
        sigwait(&termination, &number);
        out.stop(200ms);
    });
    if (what == "deaf")
        out.on_control([](const rivulet::control_request&) -> rivulet::control_reply {
            say("asked");
            for (;;)
                ::pause();
        });
    say(out.endpoints().front());
    if (out.wait_for_consumers(rivulet::forever))
        say("connected");
    try {
        if (what == "flood")
            flood(out);
    } catch (const rivulet::error& e) {
        if (e.code() != rivulet::errc::closed) {
            say(e.what());
            std::_Exit(1);
        }
    }
    terminator.join();
    say("stopped");
    return 0;
}
