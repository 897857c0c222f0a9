// For network_figures.py. What each does, in the words of its command line:
//   publish COUNT             outlets, until stdin ends
//   resolve COUNT ROUNDS      milliseconds from nothing to COUNT streams found, by a fresh context each round
//   open COUNT                inlets of COUNT streams that are found, until stdin ends
//   stream ENDPOINT           an outlet with a counter at 1 kHz, until stdin ends
//   follow ENDPOINT SECONDS   an inlet: first milliseconds until the outlet's clock is known, and to how many us; then,
//                             when it hears again after half a second of silence, local_clock() and what is lost
#include <rivulet/rivulet.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

double ms_since(clock_type::time_point began) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - began).count();
}

void until_stdin_ends() {
    while (std::getchar() != EOF) {
    }
}

bool stdin_has_ended() {
    pollfd entry{0, POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
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
    until_stdin_ends();
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

int open(std::size_t count) {
    const auto found = rivulet::resolve({}, {.minimum = count, .timeout = 60s});
    std::vector<rivulet::inlet> inlets;
    const auto began = clock_type::now();
    for (std::size_t i = 0; i < count && i < found.size(); ++i)
        inlets.emplace_back(found[i]);
    std::printf("opened %.3f\n", ms_since(began) / static_cast<double>(count));
    std::fflush(stdout);
    until_stdin_ends();
    return inlets.size() == count ? 0 : 1;
}

int stream(const std::string& endpoint) {
    rivulet::outlet out(
        {.name = "counter", .nominal_rate_hz = 1000, .format = rivulet::channel_format::int64, .source_id = "counter"},
        {.endpoints = {endpoint}});
    std::printf("listens\n");
    std::fflush(stdout);
    auto next = clock_type::now();
    for (std::int64_t i = 0; !stdin_has_ended(); ++i) {
        out.push_sample(i);
        std::this_thread::sleep_until(next += 1ms);
    }
    return 0;
}

int follow(const std::string& endpoint, double seconds) {
    rivulet::inlet in(endpoint);
    const auto began = clock_type::now();
    const auto measured = in.time_correction(10s);
    if (!measured)
        return 1;
    std::printf("clock %.3f %.3f\n", ms_since(began), measured->uncertainty_s * 1e6);
    std::fflush(stdout);
    std::vector<std::int64_t> values;
    std::vector<double> stamps;
    std::uint64_t lost = 0;
    double heard = rivulet::local_clock();
    for (const double end = heard + seconds; heard < end;) {
        const auto got = in.pull_chunk(values, stamps, 60s);
        if (!got)
            return 1;
        lost += got.lost_before;
        const double now = rivulet::local_clock();
        if (now > heard + 0.5) {
            std::printf("again %.6f %llu\n", now, static_cast<unsigned long long>(lost));
            std::fflush(stdout);
        }
        heard = now;
    }
    std::printf("lost %llu\n", static_cast<unsigned long long>(lost));
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    const std::string what = count > 2 ? arguments[1] : "";
    if (what == "publish")
        return publish(std::atoi(arguments[2]));
    if (what == "resolve" && count > 3)
        return resolve(static_cast<std::size_t>(std::atoi(arguments[2])), std::atoi(arguments[3]));
    if (what == "open")
        return open(static_cast<std::size_t>(std::atoi(arguments[2])));
    if (what == "stream")
        return stream(arguments[2]);
    if (what == "follow" && count > 3)
        return follow(arguments[2], std::atof(arguments[3]));
    return 2;
}
