#include "platform/fork_guard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rivulet::platform {
namespace {

/// What `check` says in a forked child.
template<class F>
bool in_a_child(F check) {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(check() ? 17 : 1);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 17;
}

TEST(ForkGuard, KnowsTheChildFromTheProcessItWasMadeIn) {
    const fork_guard guard;
    EXPECT_FALSE(guard.in_child());
    EXPECT_TRUE(in_a_child([&] { return guard.in_child(); }));
    EXPECT_FALSE(guard.in_child());
}

TEST(ForkGuard, OneMadeInTheChildBelongsToTheChild) {
    EXPECT_TRUE(in_a_child([] {
        const fork_guard guard;
        return !guard.in_child();
    }));
}

TEST(ForkGuard, GrandchildrenAreChildrenOfBoth) {
    const fork_guard first;
    EXPECT_TRUE(in_a_child([&] {
        const fork_guard second;
        return in_a_child([&] { return first.in_child() && second.in_child(); });
    }));
}

} // namespace
} // namespace rivulet::platform
