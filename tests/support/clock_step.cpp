// Preloaded into a program, it moves that program's wall clock by as many seconds as the file that CLOCK_STEP_FILE
// names says at the moment: what a real step does, which no test may do to its machine. Other clocks stay as they are.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

long step_s() {
    static const char* const path = std::getenv("CLOCK_STEP_FILE");
    const int fd = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    char text[32] = {};
    [[maybe_unused]] const auto got = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    return std::atol(text);
}

using read_clock = int (*)(clockid_t, timespec*);

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int clock_gettime(clockid_t clock, timespec* out) noexcept {
    static const auto real = reinterpret_cast<read_clock>(::dlsym(RTLD_NEXT, "clock_gettime"));
    const int result = real(clock, out);
    if (result == 0 && clock == CLOCK_REALTIME)
        out->tv_sec += step_s();
    return result;
}

EXPORTED int gettimeofday(timeval* out, void*) noexcept {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return result;
}

EXPORTED time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
