#include "service/client.hpp"

#include "service/time_keeper.hpp"
#include "transport/io_context.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

#include <algorithm>

namespace rivulet::service {

using platform::time_point;

namespace {

constexpr std::size_t max_calls = 1024;
constexpr std::size_t reply_overhead = 1u << 20;

} // namespace

client::client(transport::io_context& io, std::vector<transport::endpoint> addresses, std::size_t max_reply_bytes)
    : io_(io), addresses_(std::move(addresses)), max_reply_bytes_(max_reply_bytes),
      time_(std::make_unique<time_keeper>(io, *this)) {}

client::~client() { close(); }

void client::close() {
    time_->close();
    std::shared_ptr<transport::service_connection> link;
    calls open;
    {
        const std::lock_guard lock(mutex_);
        phase_ = phase::closed;
        link = std::move(link_);
        open.swap(calls_);
    }
    if (link)
        link->close();
    io_.io.forget(*this);
    for (auto& [id, call] : open)
        call.done(outcome::cancelled, nullptr, 0);
}

// --- calling --------------------------------------------------------------------------------------------------------

void client::call(const void* owner, wire::service_request request, time_point deadline, completion done) {
    pending entry;
    entry.owner = owner;
    entry.deadline = deadline;
    entry.done = std::move(done);
    entry.data.assign(request.data.begin(), request.data.end());
    if (entry.data.size() > max_control_bytes)
        throw error(errc::limit_exceeded, "control message: " + std::to_string(entry.data.size()) + " bytes, at most " +
                                              std::to_string(max_control_bytes) + " are allowed");
    entry.request = std::move(request);
    {
        const std::lock_guard lock(mutex_);
        if (phase_ != phase::closed) {
            const std::uint64_t id = next_id_++;
            pending& call = calls_.emplace(id, std::move(entry)).first->second;
            call.request.id = id;
            if (calls_.size() > max_calls) {
                call.fate = outcome::unreachable;
                return io_.io.post(*this);
            }
            if (phase_ == phase::open)
                send_locked(id, call);
            else if (phase_ == phase::idle) {
                tried_ = 0;
                connect_locked();
            }
            return io_.io.schedule_earlier(*this, deadline);
        }
    }
    entry.done(outcome::cancelled, nullptr, 0);
}

void client::send_locked(std::uint64_t id, pending& call) {
    if (call.request.op == wire::service_op::time)
        call.request.t1 = local_clock();
    call.request.id = id;
    call.request.data = call.data;
    call.sent = link_->send(wire::encode_request(call.request));
    call.request = {};
    call.data = {};
    if (call.sent)
        return;
    call.fate = outcome::unreachable;
    io_.io.post(*this);
}

void client::connect_locked() {
    while (tried_++ < addresses_.size()) {
        try {
            link_ = transport::connect_service(addresses_[address_], io_, *this, max_reply_bytes_);
            phase_ = phase::connecting;
            return;
        } catch (const error& e) {
            io_.log->debug("service_unreachable", {{"endpoint", addresses_[address_].to_string()}}, e.what());
            address_ = (address_ + 1) % addresses_.size();
        }
    }
    phase_ = phase::idle;
    give_up_locked();
}

/// There is no connection any more: what was sent will not be answered, the rest never was.
void client::give_up_locked() {
    for (auto& [id, call] : calls_)
        if (!call.fate)
            call.fate = call.sent ? outcome::broken : outcome::unreachable;
    io_.io.post(*this);
}

void client::cancel(const void* owner) {
    std::vector<completion> cancelled;
    {
        std::unique_lock lock(mutex_);
        std::erase_if(calls_, [&](auto& entry) {
            if (entry.second.owner != owner)
                return false;
            cancelled.push_back(std::move(entry.second.done));
            return true;
        });
        if (!io_.io.on_this_thread())
            idle_.wait(lock, [&] { return running_ != owner; });
    }
    for (const completion& done : cancelled)
        done(outcome::cancelled, nullptr, 0);
}

// --- on the I/O thread ----------------------------------------------------------------------------------------------

void client::finish(pending& call, outcome how, const wire::service_reply* reply, double at) {
    call.done(how, reply, at);
    {
        const std::lock_guard lock(mutex_);
        running_ = nullptr;
    }
    idle_.notify_all();
}

void client::on_open() {
    const std::lock_guard lock(mutex_);
    if (phase_ != phase::connecting)
        return;
    phase_ = phase::open;
    for (auto& [id, call] : calls_)
        if (!call.sent && !call.fate)
            send_locked(id, call);
}

void client::on_reply(wire::bytes_view frame) {
    const double at = local_clock();
    const auto self = weak_from_this().lock();
    wire::service_reply reply;
    if (wire::decode_reply(frame, max_reply_bytes_, reply) != wire::frame_error::none)
        return;
    calls::node_type call;
    {
        const std::lock_guard lock(mutex_);
        call = calls_.extract(reply.id);
        if (!self || call.empty())
            return; // it has run out of time
        running_ = call.mapped().owner;
    }
    finish(call.mapped(), outcome::replied, &reply, at);
}

void client::on_broken(std::string_view reason) {
    const auto self = weak_from_this().lock();
    std::shared_ptr<transport::service_connection> link; // lives until its own call has ended
    const std::lock_guard lock(mutex_);
    if (!self || phase_ == phase::closed)
        return;
    io_.log->debug("service_disconnected", {{"endpoint", addresses_[address_].to_string()}}, reason);
    link = std::move(link_);
    if (phase_ == phase::connecting) { // perhaps another of its addresses
        address_ = (address_ + 1) % addresses_.size();
        return connect_locked();
    }
    phase_ = phase::idle;
    give_up_locked();
}

/// Ends the calls whose fate is known, and those out of time.
void client::on_turn(time_point now) {
    const auto self = weak_from_this().lock();
    while (self) {
        calls::node_type call;
        {
            const std::lock_guard lock(mutex_);
            time_point next = time_point::max();
            auto it = calls_.begin();
            for (; it != calls_.end() && !it->second.fate && now < it->second.deadline; ++it)
                next = std::min(next, it->second.deadline);
            if (it == calls_.end())
                return io_.io.schedule(*this, next);
            call = calls_.extract(it);
            running_ = call.mapped().owner;
        }
        finish(call.mapped(), call.mapped().fate.value_or(outcome::timed_out), nullptr, 0);
    }
}

// --- client_pool ----------------------------------------------------------------------------------------------------

std::shared_ptr<client> client_pool::get(std::vector<transport::endpoint> addresses) {
    std::string key;
    for (const transport::endpoint& where : addresses)
        key += where.to_string() + ' ';
    const std::lock_guard lock(mutex_);
    std::erase_if(clients_, [](const auto& entry) { return entry.second.expired(); });
    auto& slot = clients_[key];
    auto existing = slot.lock();
    if (!existing) {
        existing = std::make_shared<client>(io_, std::move(addresses), io_.settings.tuning.max_frame + reply_overhead);
        slot = existing;
    }
    return existing;
}

} // namespace rivulet::service
