#include "syscall_counter.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The listening thread comes first: those that are made later inherit the filter.
syscall_counter::syscall_counter() : thread_([this] { listen(); }) {}

syscall_counter::~syscall_counter() {
    int expected = not_yet;
    listener_.compare_exchange_strong(expected, never);
    thread_.join();
    if (listener_ >= 0)
        ::close(listener_);
}

bool syscall_counter::count_this_thread() {
    sock_filter every_call = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    sock_fprog program{1, &every_call};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    listener_.store(listener < 0 ? never : static_cast<int>(listener)); // seen without a call of ours
    return listener >= 0;
}

void syscall_counter::listen() noexcept {
    while (listener_ == not_yet)
        std::this_thread::yield();
    if (listener_ < 0)
        return;
    for (;;) {
        pollfd wait{listener_, POLLIN, 0};
        if (::poll(&wait, 1, -1) < 0)
            continue;
        if ((wait.revents & POLLIN) == 0)
            return; // the thread has ended
        seccomp_notif call{};
        if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
            continue;
        last_.store(call.data.nr, std::memory_order_relaxed);
        count_.fetch_add(1, std::memory_order_release);
        seccomp_notif_resp answer{};
        answer.id = call.id;
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}
