#include "bench/worker.hpp"

#include "common/numbers.hpp"

#include <rivulet/clock.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rivulet::tools::bench {
namespace {

void make_pipe(int (&ends)[2]) {
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
}

[[noreturn]] void run_child(const std::function<void(worker_link&)>& body, int out, int in, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        ::signal(number, SIG_DFL);
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // else 50 us would be added to each wait of a paced loop
    worker_link link(out, in);
    int code = 0;
    try {
        body(link);
    } catch (const std::exception& e) {
        link.fail(e.what());
        code = 1;
    }
    ::_exit(code); // what the parent has registered to run at exit is the parent's
}

} // namespace

void worker_link::write_line(std::string_view word, std::string_view text) const {
    std::string line = fmt::format("{} {}", word, text);
    for (char& c : line)
        c = c == '\n' ? ' ' : c;
    line += '\n';
    for (std::string_view left = line; !left.empty();) {
        const ssize_t n = ::write(out_, left.data(), left.size());
        if (n < 0 && errno != EINTR)
            ::_exit(1); // the parent is gone
        left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

void worker_link::wait_for_go() const {
    char byte = 0;
    ssize_t n = 0;
    do
        n = ::read(in_, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        ::_exit(1);
}

void worker_link::report(std::string_view name, double value) const {
    write_line("found", fmt::format("{} {}", name, number_text(value)));
}

worker::worker(std::string what, const std::function<void(worker_link&)>& body) : what_(std::move(what)) {
    int up[2], down[2];
    make_pipe(up);
    make_pipe(down);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot fork");
    if (pid_ == 0) {
        ::close(up[0]);
        ::close(down[1]);
        run_child(body, up[1], down[0], parent);
    }
    ::close(up[1]);
    ::close(down[0]);
    from_ = up[0];
    to_ = down[1];
}

worker::worker(worker&& other) noexcept
    : what_(std::move(other.what_)), pid_(std::exchange(other.pid_, -1)), from_(std::exchange(other.from_, -1)),
      to_(std::exchange(other.to_, -1)), pending_(std::move(other.pending_)) {}

worker::~worker() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {from_, to_})
        if (fd >= 0)
            ::close(fd);
}

bool worker::next_line(std::string& line, const stop_signal& stop, double deadline) {
    for (;;) {
        if (const auto end = pending_.find('\n'); end != std::string::npos) {
            line = pending_.substr(0, end);
            pending_.erase(0, end + 1);
            if (line.starts_with("error "))
                throw std::runtime_error(fmt::format("{}: {}", what_, line.substr(6)));
            return true;
        }
        const long long left = nanoseconds_until(deadline);
        if (left == 0)
            throw std::runtime_error(what_ + ": did not end in time; is this machine overloaded?");
        pollfd fds[2] = {{from_, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
        const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
        if (::ppoll(fds, 2, &wait, nullptr) <= 0)
            continue;
        if (fds[1].revents != 0)
            throw interrupted();
        char buffer[4096];
        const ssize_t n = ::read(from_, buffer, sizeof buffer);
        if (n == 0)
            return false;
        if (n > 0)
            pending_.append(buffer, static_cast<std::size_t>(n));
    }
}

std::string worker::wait_ready(const stop_signal& stop, double patience_s) {
    std::string line;
    if (!next_line(line, stop, local_clock() + patience_s) || !line.starts_with("ready "))
        throw std::runtime_error(what_ + ": ended before it was ready");
    return line.substr(6);
}

void worker::go() const {
    const char byte = 1;
    if (::write(to_, &byte, 1) != 1)
        throw std::runtime_error(what_ + ": ended before it began");
}

findings worker::collect(const stop_signal& stop, double patience_s) {
    findings found;
    std::string line;
    const double deadline = local_clock() + patience_s;
    while (next_line(line, stop, deadline)) {
        const auto space = line.find(' ', 6);
        if (line.starts_with("found ") && space != std::string::npos)
            found[line.substr(6, space - 6)] = parse_number<double>(line.substr(space + 1)).value_or(0);
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error(fmt::format("{}: {}", what_,
                                             WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                                                 : std::string("failed")));
    return found;
}

} // namespace rivulet::tools::bench
