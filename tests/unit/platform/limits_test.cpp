#include "platform/limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace rivulet::platform {
namespace {

rlimit limits() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
}

void set_soft(rlim_t soft) {
    rlimit limit = limits();
    limit.rlim_cur = soft;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        std::abort();
}

int any_fd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Each test changes the limits of a child of its own.
TEST(FdLimit, RaisedToTheHardLimitOnce) {
    const auto child = [] {
        set_soft(64);
        const auto wanted = std::min<rlim_t>(limits().rlim_max, 1 << 20);
        const bool raised = raise_fd_limit() == wanted && limits().rlim_cur == wanted;
        set_soft(100);
        std::exit(raised && raise_fd_limit() == 100 && limits().rlim_cur == 100 ? 0 : 1);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(FdHeadroom, IsWhatCanStillBeOpened) {
    const auto child = [] {
        set_soft(100);
        const std::size_t room = fd_headroom();
        std::vector<int> opened;
        for (int fd = any_fd(); fd >= 0; fd = any_fd())
            opened.push_back(fd);
        const bool right = room == opened.size() && room > 0 && fd_headroom() == 0;
        for (const int fd : opened) // sanitizers need some on the way out
            ::close(fd);
        std::exit(right ? 0 : 1);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(FdHeadroom, ShrinksByOneForEachOneOpened) {
    const std::size_t before = fd_headroom();
    const int fd = any_fd();
    EXPECT_EQ(fd_headroom(), before - 1);
    ::close(fd);
    EXPECT_EQ(fd_headroom(), before);
}

TEST(FdHeadroom, IgnoresDescriptorsBeyondALoweredLimit) {
    const auto child = [] {
        set_soft(100);
        const int high = ::fcntl(0, F_DUPFD, 80);
        set_soft(60);
        const std::size_t room = fd_headroom();
        ::close(high);
        std::exit(high >= 80 && room == fd_headroom() ? 0 : 1);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace rivulet::platform
