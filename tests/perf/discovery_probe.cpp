// For discovery_figures.py.  discovery_probe publish COUNT: outlets until stdin ends.  discovery_probe resolve COUNT
// ROUNDS: milliseconds from nothing to COUNT streams found, by a fresh context each round.
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

double ms_since(clock_type::time_point began) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - began).count();
}

int publish(int count) {
    std::vector<rivulet::outlet> outlets;
    const auto began = clock_type::now();
    for (int i = 0; i < count; ++i)
        outlets.emplace_back(rivulet::stream_info{.name = "stream" + std::to_string(i),
                                                  .type = "EEG",
                                                  .channel_count = 64,
                                                  .nominal_rate_hz = 1000,
                                                  .source_id = "amplifier-" + std::to_string(i)},
                             rivulet::outlet_options{.endpoints = {"posix+tcp://*:*"}});
    std::printf("made %.3f\n", ms_since(began) / count);
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}

int resolve(std::size_t count, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        const rivulet::context ctx;
        const auto began = clock_type::now();
        const auto found = rivulet::resolve({}, {.minimum = count, .timeout = 60s, .ctx = ctx});
        const double all = ms_since(began);
        if (found.size() < count)
            return 1;
        std::printf("found %.3f\n", all);
    }
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 2 ? arguments[1] : "";
    if (what == "publish")
        return publish(std::atoi(arguments[2]));
    if (what == "resolve" && count > 3)
        return resolve(static_cast<std::size_t>(std::atoi(arguments[2])), std::atoi(arguments[3]));
    return 2;
}
