#include "service/time_keeper.hpp"

#include "platform/wait.hpp"
#include "service/client.hpp"
#include "transport/io_context.hpp"

#include <rivulet/clock.hpp>

namespace rivulet::service {

using namespace std::chrono_literals;
using platform::time_point;

namespace {

constexpr int probes_a_burst = 8;
constexpr auto probe_patience = 500ms;
constexpr auto early_interval = 500ms; ///< between the first bursts, as drift is known best from a few
constexpr auto interval = 4s;
constexpr std::uint64_t early_bursts = 4;

} // namespace

void time_keeper::start(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    const bool first = uid_.empty();
    uid_ = uid;
    if (first && !closed_)
        io_.io.post(*this);
}

void time_keeper::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    changed_.notify_all();
    io_.io.forget(*this);
}

std::optional<clock::offset_estimate> time_keeper::estimate(time_point deadline) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return closed_ || estimator_.estimate(local_clock()).has_value(); };
    platform::wait_until(changed_, lock, deadline, ready);
    return estimator_.estimate(local_clock());
}

std::uint64_t time_keeper::version() {
    const std::lock_guard lock(mutex_);
    return bursts_;
}

std::vector<clock_record> time_keeper::records(std::uint64_t from) {
    const std::lock_guard lock(mutex_);
    return estimator_.records(from);
}

void time_keeper::on_turn(time_point) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_ || running_)
            return;
        running_ = true;
        asked_ = 0;
        burst_.clear();
    }
    probe_next();
}

void time_keeper::probe_next() {
    wire::service_request request;
    request.op = wire::service_op::time;
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            return;
        request.uid = uid_;
        ++asked_;
    }
    server_.call(this, std::move(request), platform::clock::now() + probe_patience,
                 [this](outcome how, const wire::service_reply* reply, double at) {
                     if (how == outcome::cancelled)
                         return;
                     const bool good = how == outcome::replied && reply->status == wire::reply_status::ok;
                     bool more = false;
                     {
                         const std::lock_guard lock(mutex_);
                         if (good)
                             burst_.push_back({reply->t1, reply->t2, reply->t3, at});
                         more = good && asked_ < probes_a_burst && !closed_;
                     }
                     if (more)
                         probe_next();
                     else
                         burst_done(platform::clock::now());
                 });
}

void time_keeper::burst_done(time_point now) {
    {
        const std::lock_guard lock(mutex_);
        running_ = false;
        if (closed_)
            return;
        if (!burst_.empty() && estimator_.add(burst_))
            ++bursts_;
        io_.io.schedule(*this, now + (bursts_ < early_bursts ? std::chrono::milliseconds(early_interval) : interval));
    }
    changed_.notify_all();
}

} // namespace rivulet::service
