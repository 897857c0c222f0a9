#include "platform/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rivulet::platform {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int any_fd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(UniqueFd, ClosesWhatItOwns) {
    const int fd = any_fd();
    {
        const unique_fd owner(fd);
        EXPECT_TRUE(owner);
        EXPECT_EQ(owner.get(), fd);
    }
    EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovesOwnership) {
    const int fd = any_fd();
    const int other = any_fd();
    unique_fd a(fd);
    unique_fd b(std::move(a));
    EXPECT_FALSE(a); // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    EXPECT_EQ(b.get(), fd);
    unique_fd c(other);
    c = std::move(b);
    EXPECT_FALSE(is_open(other));
    EXPECT_EQ(c.get(), fd);
    unique_fd& same = c;
    c = std::move(same);
    EXPECT_TRUE(is_open(fd));
    EXPECT_EQ(c.release(), fd);
    EXPECT_FALSE(c);
    EXPECT_TRUE(is_open(fd));
    ::close(fd);
}

TEST(UniqueFd, ResetKeepsErrno) {
    unique_fd owner(1 << 30); // no such descriptor: close fails
    errno = EAGAIN;
    owner.reset();
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_FALSE(unique_fd());
}

} // namespace
} // namespace rivulet::platform
