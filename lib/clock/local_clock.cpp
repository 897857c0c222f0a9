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

} // namespace

double local_clock() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::int64_t local_to_unix_ns(double stamp) noexcept {
    if (!std::isfinite(stamp) || std::abs(stamp) > 4e9)
        return 0;
    const std::int64_t before = read_ns(CLOCK_MONOTONIC);
    const std::int64_t wall = read_ns(CLOCK_REALTIME);
    const std::int64_t after = read_ns(CLOCK_MONOTONIC);
    const std::int64_t offset = wall - (before + (after - before) / 2);
    return static_cast<std::int64_t>(std::llround(stamp * 1e9)) + offset;
}

} // namespace rivulet
