// Receives samples one by one and prints them: sequence number, stamp, values.
//   receive_samples [ENDPOINT]
#include <rivulet/rivulet.hpp>

#include <cstdio>
#include <exception>
#include <vector>

int main(int argc, char** argv) try {
    rivulet::inlet in{argc > 1 ? argv[1] : "zmq+tcp://localhost:5555"}; // waits for the outlet, 10 s
    const rivulet::stream_info info = in.info();
    std::fprintf(stderr, "%s: %zu channels at %g Hz\n", info.name.c_str(), in.channel_count(), info.nominal_rate_hz);

    std::vector<float> sample;
    double stamp = 0;                                        // seconds on the local clock
    while (const auto got = in.pull_sample(sample, stamp)) { // until the stream ends
        if (got.lost_before)
            std::fprintf(stderr, "lost %llu samples\n", static_cast<unsigned long long>(got.lost_before));
        std::printf("%llu %.6f", static_cast<unsigned long long>(got.first_sequence), stamp);
        for (const float value : sample)
            std::printf(" %g", static_cast<double>(value));
        std::printf("\n");
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
