// The producing end of a closed loop: sends samples and sets its gain as consumers ask, by control messages.
//   control_producer [--bind ENDPOINT] [--rate HZ]
#include <rivulet/rivulet.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>

namespace {

volatile std::sig_atomic_t stop = 0;

} // namespace

int main(int argc, char** argv) try {
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    std::string endpoint = "zmq+tcp://*:*";
    double rate = 100;
    for (int i = 1; i + 1 < argc; i += 2)
        if (std::string_view(argv[i]) == "--bind")
            endpoint = argv[i + 1];
        else if (std::string_view(argv[i]) == "--rate")
            rate = std::atof(argv[i + 1]);

    rivulet::stream_info info{.name = "loop", .type = "Control", .nominal_rate_hz = rate, .source_id = "loop-1"};
    rivulet::outlet out{info, {.endpoints = {endpoint}}};
    std::atomic<float> gain{0};
    std::atomic<unsigned long> handled{0};
    out.on_control([&](const rivulet::control_request& request) -> rivulet::control_reply {
        float wanted = 0;
        if (request.data.size() != sizeof wanted)
            return {.status = rivulet::control_status::refused, .text = "the gain is one float"};
        std::memcpy(&wanted, request.data.data(), sizeof wanted);
        gain = wanted;
        ++handled;
        return {.data = request.data};
    });

    auto next = std::chrono::steady_clock::now();
    const auto period = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(1 / rate));
    while (!stop) {
        out.push_sample(std::array{gain.load()});
        std::this_thread::sleep_until(next += period);
    }
    std::printf("{\"handled\":%lu}\n", handled.load());
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
