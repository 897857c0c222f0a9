#include <rivulet/clock.hpp>

#include <cmath>
#include <ctime>

namespace rivulet {
namespace {

std::int64_t read_ns(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// Wall clock minus local clock. A thread that loses its CPU between the readings reads again.
std::int64_t wall_offset_ns() noexcept {
    constexpr int attempts = 10;
    constexpr std::int64_t good_enough_ns = 1000;
    std::int64_t offset = 0;
    std::int64_t narrowest = INT64_MAX;
    for (int i = 0; i < attempts && narrowest > good_enough_ns; ++i) {
        const std::int64_t before = read_ns(CLOCK_MONOTONIC);
        const std::int64_t wall = read_ns(CLOCK_REALTIME);
        const std::int64_t after = read_ns(CLOCK_MONOTONIC);
        if (after - before < narrowest) {
            narrowest = after - before;
            offset = wall - (before + narrowest / 2);
        }
    }
    return offset;
}

} // namespace

double local_clock() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::int64_t local_to_unix_ns(double stamp) noexcept {
    if (!std::isfinite(stamp) || std::abs(stamp) > 4e9)
        return 0;
    return static_cast<std::int64_t>(std::llround(stamp * 1e9)) + wall_offset_ns();
}

} // namespace rivulet
