// Sends chunks, as an acquisition card delivers them: 64 channels at 30 kHz, 300 samples at a time.
//   send_chunks [ENDPOINT] [SECONDS]
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

volatile std::sig_atomic_t stop = 0;
constexpr std::size_t channels = 64;
constexpr std::size_t chunk_samples = 300;

/// Stands for the card: sample i carries i, plus the channel's number.
void acquire(std::vector<std::int16_t>& chunk, std::size_t first) {
    for (std::size_t i = 0; i < chunk.size(); ++i)
        chunk[i] = static_cast<std::int16_t>((first + i / channels + i % channels) % 30000);
}

} // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    const std::string endpoint = argc > 1 ? argv[1] : "zmq+tcp://*:5555";
    const double seconds = argc > 2 ? std::atof(argv[2]) : 60.0;

    rivulet::outlet out{{.name = "spikes",
                         .type = "Ephys",
                         .channel_count = channels,
                         .nominal_rate_hz = 30000,
                         .format = rivulet::channel_format::int16,
                         .source_id = "amplifier-1"},
                        {.endpoints = {endpoint}}};
    std::printf("listening on %s\n", out.endpoints().front().c_str());
    std::fflush(stdout);

    while (!stop && !out.wait_for_consumers(100ms)) {
    }
    std::vector<std::int16_t> chunk(chunk_samples * channels); // [samples x channels]
    auto next = std::chrono::steady_clock::now();
    for (std::size_t sent = 0; !stop && static_cast<double>(sent) < seconds * 30000; sent += chunk_samples) {
        std::this_thread::sleep_until(next += 10ms);
        acquire(chunk, sent);
        out.push_chunk(chunk); // the stamp is that of the last sample; the others follow from the rate
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
