// Sends from its own memory without a copy: push returns when nobody refers to the buffer any more.
// Use it only where the pushing thread may wait for the slowest consumer (at most send_timeout).
//   send_sync [ENDPOINT] [CHUNKS]
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

volatile std::sig_atomic_t stop = 0;
constexpr std::size_t channels = 1000;
constexpr std::size_t chunk_samples = 30;

} // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    const std::string endpoint = argc > 1 ? argv[1] : "zmq+tcp://*:5555";
    const int chunks = argc > 2 ? std::atoi(argv[2]) : 10000;

    rivulet::outlet out{
        {.name = "probe", .type = "Ephys", .channel_count = channels, .nominal_rate_hz = 30000, .source_id = "probe-1"},
        {.endpoints = {endpoint}, .mode = rivulet::delivery::sync, .send_timeout = 2s}};
    out.on_consumer([](const rivulet::consumer_event& e) {
        if (e.what == rivulet::consumer_event::kind::kicked)
            std::fprintf(stderr, "%s did not keep up and was disconnected\n", e.name.c_str());
    });
    std::printf("listening on %s\n", out.endpoints().front().c_str());
    std::fflush(stdout);

    while (!stop && !out.wait_for_consumers(100ms)) {
    }
    std::vector<float> buffer(chunk_samples * channels); // one buffer for ever, as a driver's DMA memory would be
    for (int chunk = 0; !stop && chunk < chunks; ++chunk) {
        for (std::size_t i = 0; i < buffer.size(); ++i)
            buffer[i] = static_cast<float>(static_cast<std::size_t>(chunk) * chunk_samples + i / channels);
        out.push_chunk(buffer);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
