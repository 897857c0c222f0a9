#include "core/inlet_service.hpp"

#include "platform/wait.hpp"
#include "service/time_keeper.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <utility>

namespace rivulet::core {

using platform::deadline_after;
using platform::time_point;
using service::outcome;
using wire::reply_status;

namespace {

constexpr double clock_interval_s = 0.05; ///< between looks at what is known of the outlet's clock

/// Something that another thread gives, once.
template<class T>
class handed_over {
public:
    void put(T value) {
        {
            const std::lock_guard lock(mutex_);
            value_ = std::move(value);
        }
        there_.notify_all();
    }
    /// Nothing at the deadline.
    std::optional<T> wait(time_point deadline) {
        std::unique_lock lock(mutex_);
        const auto ready = [&] { return value_.has_value(); };
        platform::wait_until(there_, lock, deadline, ready);
        return std::move(value_);
    }

private:
    std::mutex mutex_;
    std::condition_variable there_;
    std::optional<T> value_;
};

control_status status_of(reply_status status) noexcept {
    switch (status) {
    case reply_status::ok: return control_status::done;
    case reply_status::unknown_stream: return control_status::unavailable;
    case reply_status::unavailable: return control_status::no_handler;
    case reply_status::busy: return control_status::busy;
    case reply_status::failed: return control_status::failed;
    case reply_status::malformed:
    case reply_status::unknown_op:
    case reply_status::refused: break;
    }
    return control_status::refused;
}

std::optional<control_reply> control_result(outcome how, const wire::service_reply* reply) {
    if (how == outcome::unreachable)
        return control_reply{{}, control_status::unreachable, "nobody answers where the outlet's service was"};
    if (how != outcome::replied)
        return std::nullopt;
    return control_reply{std::vector<std::byte>(reply->data.begin(), reply->data.end()), status_of(reply->status),
                         std::string(reply->text)};
}

/// A reply that the I/O thread should have given by now.
time_point overdue(time_point deadline) {
    return deadline == time_point::max() ? deadline : deadline + std::chrono::seconds(1);
}

} // namespace

inlet_service::inlet_service(std::shared_ptr<detail::context_impl> ctx, std::string endpoint, std::string name)
    : ctx_(std::move(ctx)), name_(std::move(name)), endpoint_(std::move(endpoint)), reached_{endpoint_} {}

std::string inlet_service::title() const {
    const std::lock_guard lock(mutex_);
    return "inlet of " + endpoint_;
}

void inlet_service::look_up() {
    std::string endpoint;
    {
        const std::lock_guard lock(mutex_);
        endpoint = endpoint_;
    }
    auto found = transport::numeric_forms(endpoint);
    const std::lock_guard lock(mutex_);
    reached_ = std::move(found);
}

void inlet_service::endpoint_is(std::string endpoint) {
    const std::lock_guard lock(mutex_);
    endpoint_ = std::move(endpoint);
    reached_ = {endpoint_};
    client_of_ = {""}; // as nothing is: the next call makes another client
}

void inlet_service::consumer_is(std::string id) {
    const std::lock_guard lock(mutex_);
    consumer_ = std::move(id);
}

void inlet_service::stream_is(const std::string& uid, std::vector<std::string> service) {
    // The client of another list is replaced at the next use: letting go of it waits for its calls, and whoever says
    // this may hold locks.
    const std::lock_guard lock(mutex_);
    if (uid_ != uid) {
        streams_.fetch_add(1, std::memory_order_release);
        look_at_clock_ = 0;
    }
    uid_ = uid;
    offered_ = std::move(service);
    if (keeps_time_ && client_ && client_of_ == offered_)
        client_->time().start(uid_);
}

void inlet_service::close() {
    std::shared_ptr<service::client> before, recorded;
    std::optional<clock_reading> known; // lets go of its client without the lock
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        gone_->store(true, std::memory_order_seq_cst);
        before = std::move(client_);
        known.swap(clock_known_);
        recorded.swap(records_of_);
    }
    if (before)
        before->cancel(this);
}

std::string inlet_service::uid() const {
    const std::lock_guard lock(mutex_);
    return uid_;
}

/// nullptr: the outlet names no service that could be reached.
std::shared_ptr<service::client> inlet_service::client(bool may_block) {
    std::vector<std::string> offered;
    std::vector<std::string> reached;
    std::shared_ptr<service::client> before;
    {
        const std::lock_guard lock(mutex_);
        if (closed_)
            throw error(errc::closed, "inlet of " + endpoint_ + ": it was closed; open a new inlet to go on");
        if (client_ && client_of_ == offered_)
            return client_;
        before = std::move(client_);
        offered = offered_;
        reached = reached_;
    }
    if (before)
        before->cancel(this);
    std::vector<transport::endpoint> addresses;
    for (const std::string& data : reached)
        for (transport::endpoint& where : transport::reachable_services(offered, data, may_block))
            addresses.push_back(std::move(where));
    if (addresses.empty())
        return nullptr;
    auto found = ctx_->clients.get(std::move(addresses));
    const std::lock_guard lock(mutex_);
    if (!client_ && !closed_ && offered == offered_ && reached == reached_) {
        client_ = found;
        client_of_ = std::move(offered);
    }
    return found;
}

void inlet_service::check_waiting() const {
    if (ctx_->io.on_this_thread())
        throw error(errc::invalid_argument, title() + ": called from a callback on the I/O thread, which would have to "
                                                      "bring the answer; use post_control, or another thread");
}

// --- control --------------------------------------------------------------------------------------------------------

void inlet_service::post_control(std::span<const std::byte> data, const control_options& options,
                                 control_callback callback) {
    if (data.size() > max_control_bytes)
        throw error(errc::limit_exceeded, title() + ": a control message of " + std::to_string(data.size()) +
                                              " bytes; at most " + std::to_string(max_control_bytes) + " are allowed");
    const auto server = client(!ctx_->io.on_this_thread());
    if (!server)
        return callback(
            control_reply{{}, control_status::unreachable, "the outlet names no service that can be reached"});
    wire::service_request request;
    request.op = wire::service_op::control;
    {
        const std::lock_guard lock(mutex_);
        request.uid = uid_;
        request.consumer = consumer_;
    }
    request.name = name_;
    request.sent_at = local_clock();
    request.about = options.about_sequence;
    request.data = data;
    const void* const owner = this;
    const auto gone = gone_;
    server->call(owner, std::move(request), deadline_after(platform::clock::now(), options.timeout),
                 [callback = std::move(callback)](outcome how, const wire::service_reply* reply, double) {
                     callback(control_result(how, reply));
                 });
    end_if_closed(*server, owner, *gone);
}

/// close() may have come between client() and the call. Whoever was answered may have destroyed this object by now.
void inlet_service::end_if_closed(service::client& server, const void* owner, const std::atomic<bool>& gone) {
    if (gone.load(std::memory_order_seq_cst))
        server.cancel(owner);
}

std::optional<control_reply> inlet_service::send_control(std::span<const std::byte> data,
                                                         const control_options& options) {
    check_waiting();
    const time_point deadline = deadline_after(platform::clock::now(), options.timeout);
    const auto answer = std::make_shared<handed_over<std::optional<control_reply>>>();
    post_control(data, options, [answer](std::optional<control_reply> reply) { answer->put(std::move(reply)); });
    return answer->wait(overdue(deadline)).value_or(std::nullopt);
}

// --- questions ------------------------------------------------------------------------------------------------------

/// Asks and waits; `take` is given a reply that worked, on the I/O thread. False: there was none.
bool inlet_service::ask(wire::service_request request, std::chrono::nanoseconds timeout,
                        std::function<void(const wire::service_reply&)> take) {
    check_waiting();
    const time_point deadline = deadline_after(platform::clock::now(), timeout);
    const auto server = client(true);
    if (!server)
        return false;
    request.uid = uid();
    const auto answer = std::make_shared<handed_over<bool>>();
    const void* const owner = this;
    const auto gone = gone_;
    server->call(owner, std::move(request), deadline,
                 [answer, take = std::move(take)](outcome how, const wire::service_reply* reply, double) {
                     const bool good = how == outcome::replied && reply->status == reply_status::ok;
                     if (good)
                         take(*reply);
                     answer->put(good);
                 });
    end_if_closed(*server, owner, *gone);
    return answer->wait(overdue(deadline)).value_or(false);
}

std::optional<outlet_stats> inlet_service::stats(std::chrono::nanoseconds timeout) {
    wire::service_request request;
    request.op = wire::service_op::stats;
    const auto result = std::make_shared<outlet_stats>();
    if (!ask(std::move(request), timeout, [result](const wire::service_reply& reply) { *result = reply.stats; }))
        return std::nullopt;
    return *result;
}

std::optional<clock_offset> inlet_service::time_correction(std::chrono::nanoseconds timeout) {
    const bool waits = timeout.count() > 0;
    if (waits)
        check_waiting();
    const time_point deadline = waits ? deadline_after(platform::clock::now(), timeout) : time_point::min();
    const auto server = client(waits);
    if (!server)
        return std::nullopt;
    keep_time(*server);
    const auto found = server->time().estimate(deadline);
    if (!found)
        return std::nullopt;
    return clock_offset{found->offset_s, found->uncertainty_s, found->rtt_s};
}

std::vector<clock_record> inlet_service::take_clock_records() {
    auto server = client(false);
    if (!server)
        return {};
    keep_time(*server);
    std::shared_ptr<service::client> before; // lets go of it without the lock
    const std::lock_guard lock(mutex_);
    const bool first = !records_of_;
    const bool another = records_of_ != server;
    if (another) {
        before = std::exchange(records_of_, server);
        next_record_ = server->time().version();
        next_record_ -= next_record_ > 0 ? 1 : 0;
    }
    auto records = server->time().records(next_record_);
    if (records.empty()) {
        line_begins_ |= another && !first;
        return records;
    }
    next_record_ = records.back().number + 1;
    records.front().reset |= std::exchange(line_begins_, false) || (another && !first);
    return records;
}

std::optional<inlet_service::clock_reading> inlet_service::clock_now() {
    {
        const std::lock_guard lock(mutex_);
        const double now_time = local_clock();
        if (now_time < look_at_clock_)
            return clock_known_;
        look_at_clock_ = now_time + clock_interval_s;
    }
    std::optional<clock_reading> known;
    if (auto server = client(false)) {
        keep_time(*server);
        const std::uint64_t version = server->time().version();
        if (const auto found = server->time().estimate(time_point::min()))
            known = clock_reading{*found, version, std::move(server)};
    }
    const std::lock_guard lock(mutex_);
    clock_known_.swap(known);
    return clock_known_;
}

void inlet_service::keep_time(service::client& server) {
    const std::lock_guard lock(mutex_);
    keeps_time_ = true;
    server.time().start(uid_);
}

} // namespace rivulet::core
