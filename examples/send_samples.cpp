// Sends samples one by one, in time: 2 channels at 100 Hz.
//   send_samples [ENDPOINT] [SECONDS]
#include <rivulet/rivulet.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

namespace {

volatile std::sig_atomic_t stop = 0;

} // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    const std::string endpoint = argc > 1 ? argv[1] : "zmq+tcp://*:5555";
    const double seconds = argc > 2 ? std::atof(argv[2]) : 60.0;

    rivulet::stream_info info{
        .name = "waves", .type = "EEG", .channel_count = 2, .nominal_rate_hz = 100, .source_id = "waves"};
    info.channel(0).label("sine").unit("microvolts");
    info.channel(1).label("cosine").unit("microvolts");
    rivulet::outlet out{info, {.endpoints = {endpoint}}};
    std::printf("listening on %s\n", out.endpoints().front().c_str());
    std::fflush(stdout);

    while (!stop && !out.wait_for_consumers(100ms)) {
    }
    auto next = std::chrono::steady_clock::now();
    for (int i = 0; !stop && i < seconds * 100; ++i) {
        const float phase = static_cast<float>(i) * 0.1f;
        out.push_sample(std::array{std::sin(phase), std::cos(phase)}); // stamped with the clock
        std::this_thread::sleep_until(next += 10ms);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
