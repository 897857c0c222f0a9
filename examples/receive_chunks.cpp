// Receives whatever has come at once, and reports each second: samples, loss, the mean of the first channel.
//   receive_chunks [ENDPOINT]
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    rivulet::inlet in{argc > 1 ? argv[1] : "zmq+tcp://localhost:5555"};
    const std::size_t channels = in.channel_count();

    std::vector<double> values; // [samples x channels], converted from the stream's format
    std::vector<double> stamps; // one a sample
    std::uint64_t samples = 0, lost = 0;
    double sum = 0;
    auto report_at = std::chrono::steady_clock::now() + 1s;
    const auto report = [&] {
        std::printf("%llu samples, %llu lost, mean of channel 0: %g\n", static_cast<unsigned long long>(samples),
                    static_cast<unsigned long long>(lost), samples ? sum / static_cast<double>(samples) : 0.0);
        std::fflush(stdout);
    };
    for (;;) {
        const auto got = in.pull_chunk(values, stamps, 100ms); // returns as soon as there is one sample
        lost += got.lost_before;
        samples += got.samples;
        for (std::size_t i = 0; i < got.samples; ++i)
            sum += values[i * channels];
        if (got.status == rivulet::pull_status::ended)
            break;
        if (std::chrono::steady_clock::now() >= report_at) {
            report();
            report_at += 1s;
        }
    }
    report();
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
