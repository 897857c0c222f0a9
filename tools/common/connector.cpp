#include "common/connector.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace rivulet::tools {
namespace {

std::atomic<int> at_work{0};

inlet open(const stream_source& what, const inlet_options& options) {
    if (const auto* stream = std::get_if<found_stream>(&what))
        return inlet(*stream, options);
    return inlet(std::get<std::string>(what), options);
}

/// Waits for it as long as it takes.
found_stream find(const successor& next, const inlet_options& options) {
    stream_selector wanted;
    wanted.where = [before = next.of.info](const found_stream& s) {
        const bool same = before.source_id.empty()
                              ? s.info.source_id.empty() && s.info.name == before.name && s.info.type == before.type
                              : s.info.source_id == before.source_id;
        return same && s.info.uid != before.uid;
    };
    return resolve_one(wanted, forever, options.ctx);
}

} // namespace

wake_event::wake_event() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
}

wake_event::~wake_event() { close(fd_); }

void wake_event::set() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

void wake_event::clear() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(fd_, &count, sizeof count);
}

struct connector::state {
    std::mutex mutex;
    bool done = false;
    std::optional<inlet> opened;
    std::exception_ptr problem;
};

connector::connector(std::variant<stream_source, successor> what, inlet_options options,
                     std::shared_ptr<wake_event> wake, std::chrono::nanoseconds clock_patience)
    : state_(std::make_shared<state>()) {
    at_work.fetch_add(1);
    std::thread([shared = state_, what = std::move(what), options = std::move(options), wake = std::move(wake),
                 clock_patience]() mutable {
        pthread_setname_np(pthread_self(), "connector");
        std::optional<inlet> opened;
        std::exception_ptr problem;
        try {
            const auto* next = std::get_if<successor>(&what);
            opened.emplace(open(next ? stream_source(find(*next, options)) : std::get<stream_source>(what), options));
            (void)opened->time_correction(clock_patience); // begins to measure it, in the background as well
        } catch (...) {
            problem = std::current_exception();
        }
        {
            const std::scoped_lock lock(shared->mutex);
            shared->opened = std::move(opened);
            shared->problem = problem;
            shared->done = true;
        }
        options.ctx.reset();
        shared.reset(); // an inlet that nobody took goes while this thread still counts
        wake->set();
        at_work.fetch_sub(1);
    }).detach();
}

bool connector::done() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->done;
}

inlet connector::take() {
    const std::scoped_lock lock(state_->mutex);
    if (state_->problem)
        std::rethrow_exception(state_->problem);
    return std::move(*state_->opened);
}

int leave(int exit_code) {
    if (at_work.load() > 0) {
        std::fflush(nullptr);
        std::_Exit(exit_code);
    }
    return exit_code;
}

} // namespace rivulet::tools
