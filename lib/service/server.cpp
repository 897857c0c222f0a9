#include "service/server.hpp"

#include "service/replay.hpp"
#include "transport/io_context.hpp"
#include "wire/service_frame.hpp"

#include <rivulet/clock.hpp>
#include <rivulet/error.hpp>

namespace rivulet::service {

using transport::asker;
using transport::service_listener;
using wire::reply_status;

namespace {

reply_status status_of(control_status status) noexcept {
    switch (status) {
    case control_status::done: return reply_status::ok;
    case control_status::refused: return reply_status::refused;
    case control_status::failed: return reply_status::failed;
    case control_status::busy: return reply_status::busy;
    case control_status::no_handler: return reply_status::unavailable;
    case control_status::unavailable:
    case control_status::unreachable: break;
    }
    return reply_status::unknown_stream;
}

} // namespace

void control_call::done(const control_reply& reply) const {
    if (reply.data.size() > max_control_bytes)
        return refuse(control_status::failed, "the reply has " + std::to_string(reply.data.size()) +
                                                  " bytes, at most " + std::to_string(max_control_bytes) +
                                                  " are allowed");
    const bool refused = reply.status == control_status::refused;
    if (!refused && reply.status != control_status::done)
        return refuse(reply.status, reply.text);
    link_->reply(asker_,
                 wire::encode_control_reply(request.id, reply.data,
                                            refused ? std::optional<std::string_view>(reply.text) : std::nullopt));
}

void control_call::refuse(control_status status, std::string_view text) const {
    link_->reply(asker_, wire::encode_refusal(request.id, status_of(status), text));
}

// --- listeners ------------------------------------------------------------------------------------------------------

server::lease server::open_for(std::string_view data) {
    const transport::endpoint where =
        transport::service_address_for(transport::parse_endpoint(data, transport::endpoint_use::listen));
    const std::lock_guard lock(listeners_mutex_);
    std::erase_if(listeners_, [](const auto& entry) { return entry.second.expired(); });
    auto& slot = listeners_[where.to_string()];
    if (auto open = slot.lock())
        return open;
    try {
        auto listener = transport::open_service_listener(where, io_, *this);
        service_listener* const raw = listener.get();
        lease shared(raw, [keep = std::move(listener)](const service_listener*) { keep->close(); });
        slot = shared;
        return shared;
    } catch (const error& e) {
        io_.log->warn("service_unavailable", {{"endpoint", where.to_string()}}, e.what());
        return nullptr;
    }
}

// --- targets --------------------------------------------------------------------------------------------------------

void server::add(const std::string& uid, target& who) {
    const std::lock_guard lock(mutex_);
    targets_[uid] = &who;
}

void server::forget(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    targets_.erase(uid);
}

void server::remove(target& who) {
    const std::lock_guard lock(mutex_);
    std::erase_if(targets_, [&](const auto& entry) { return entry.second == &who; });
}

// --- requests -------------------------------------------------------------------------------------------------------

void server::on_request(service_listener& link, asker from, wire::bytes_view frame) {
    const double received = local_clock();
    wire::service_request request;
    switch (wire::decode_request(frame, request)) {
    case wire::request_error::none: break;
    case wire::request_error::no_request: return; // nobody could tell what an answer is to
    case wire::request_error::malformed:
        return link.reply(
            from, wire::encode_refusal(request.id, reply_status::malformed, "the request breaks a rule of the format"));
    case wire::request_error::unknown_op:
        return link.reply(
            from, wire::encode_refusal(request.id, reply_status::unknown_op, "this version knows no such operation"));
    }
    std::unique_lock lock(mutex_);
    const auto found = targets_.find(request.uid);
    if (found == targets_.end())
        return link.reply(from, wire::encode_refusal(request.id, reply_status::unknown_stream,
                                                     "no outlet of that uid is here (any more)"));
    target& who = *found->second;
    switch (request.op) {
    case wire::service_op::time: {
        const double replied = local_clock();
        return link.reply(
            from, wire::encode_time_reply(request.id, request.t1, received, replied, local_to_unix_ns(replied)));
    }
    case wire::service_op::info: return link.reply(from, wire::encode_info_reply(request.id, *who.info_frame()));
    case wire::service_op::stats: return link.reply(from, wire::encode_stats_reply(request.id, who.stats()));
    case wire::service_op::replay: {
        const target::history kept = who.kept();
        if (!kept.log || kept.uid != request.uid)
            return link.reply(from, wire::encode_refusal(request.id, reply_status::unavailable,
                                                         kept.log ? "that segment has ended and is not kept"
                                                                  : "sync delivery keeps no history"));
        return link.reply(from, replay(request.id, kept, request.from, request.to));
    }
    case wire::service_op::control: {
        control_call call;
        call.request = {request.name,    request.consumer,
                        request.id,      request.about,
                        request.sent_at, std::vector<std::byte>(request.data.begin(), request.data.end())};
        call.link_ = link.shared_from_this();
        call.asker_ = from;
        const std::function<void()> then = who.on_control(std::move(call));
        lock.unlock();
        if (then)
            then();
        return;
    }
    }
}

} // namespace rivulet::service
