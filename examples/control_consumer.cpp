// The answering end of a closed loop: asks for another gain at each sample, and sees when samples carry it.
//   control_consumer [--seconds S]
#include <rivulet/rivulet.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

namespace {

volatile std::sig_atomic_t stop = 0;

} // namespace

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    const double seconds = argc > 2 && std::string_view(argv[1]) == "--seconds" ? std::atof(argv[2]) : 5.0;

    std::vector<rivulet::found_stream> found;
    while (found.empty() && !stop)
        found = rivulet::resolve({.name = "loop"}, {.timeout = 500ms});
    if (stop)
        return 0;
    rivulet::inlet in{found.front()};
    unsigned long samples = 0, lost = 0, asked = 0, answered = 0, seen = 0;
    double round_trip = 0, worst = 0;
    float value = 0, wanted = 0;
    double stamp = 0;
    const double end = rivulet::local_clock() + seconds;
    while (!stop && rivulet::local_clock() < end) {
        const auto got = in.pull_sample(value, stamp, 500ms);
        if (got.status == rivulet::pull_status::ended) {
            stop = 1;
            break;
        }
        if (!got)
            continue;
        ++samples;
        lost += got.lost_before;
        if (asked > 0 && value != wanted)
            continue; // the gain asked for last is still on its way
        seen += asked > 0 ? 1 : 0;
        wanted += 1;
        const double sent = rivulet::local_clock();
        const auto reply = in.send_control(std::as_bytes(std::span(&wanted, 1)),
                                           {.timeout = 1s, .about_sequence = got.first_sequence});
        if (++asked == 1) {
            std::puts("{\"event\":\"answered\"}");
            std::fflush(stdout);
        }
        answered += reply && *reply ? 1 : 0;
        round_trip += rivulet::local_clock() - sent;
        worst = std::max(worst, rivulet::local_clock() - sent);
    }
    std::printf("{\"samples\":%lu,\"lost\":%lu,\"asked\":%lu,\"answered\":%lu,\"seen\":%lu,"
                "\"round_trip_ms\":{\"mean\":%.3f,\"max\":%.3f}}\n",
                samples, lost, asked, answered, seen, asked ? round_trip / static_cast<double>(asked) * 1e3 : 0.0,
                worst * 1e3);
    // A producer that ends leaves the last question open.
    return stop ? asked - answered > 1 : answered != asked || asked == 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
