// Sends event markers: text, at no regular rate, each with its stamp.
//   send_markers [ENDPOINT] [COUNT]
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

namespace {

volatile std::sig_atomic_t stop = 0;

} // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    const std::string endpoint = argc > 1 ? argv[1] : "zmq+tcp://*:5556";
    const int count = argc > 2 ? std::atoi(argv[2]) : 100;

    rivulet::outlet out{{.name = "events",
                         .type = "Markers",
                         .nominal_rate_hz = rivulet::irregular,
                         .format = rivulet::channel_format::string,
                         .source_id = "markers-1"},
                        {.endpoints = {endpoint}}};
    std::printf("listening on %s\n", out.endpoints().front().c_str());
    std::fflush(stdout);

    while (!stop && !out.wait_for_consumers(100ms)) {
    }
    for (int trial = 1; !stop && trial <= count; ++trial) {
        const double shown_at = rivulet::local_clock(); // taken where it happens, pushed when there is time
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * (trial % 5)));
        out.push_sample("stimulus " + std::to_string(trial), shown_at);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
