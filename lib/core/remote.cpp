#include <rivulet/remote.hpp>

#include "core/context_impl.hpp"
#include "platform/wait.hpp"
#include "service/client.hpp"
#include "wire/info_frame.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

namespace rivulet {
namespace {

using platform::time_point;

constexpr std::size_t most_at_once = 256; ///< questions under way: far below what a client queues

/// One question to many outlets. Threads: run() on the asking one, replies come on the I/O thread.
class round_of_questions {
public:
    using taker = std::function<void(std::size_t stream, const wire::service_reply& reply)>;

    round_of_questions(detail::context_impl& ctx, wire::service_op op, taker take)
        : ctx_(ctx), op_(op), take_(std::move(take)) {}

    void run(std::span<const found_stream> streams, time_point deadline) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (!wait_until_open_are_at_most(most_at_once - 1, deadline))
                break;
            ask(i, streams[i], deadline);
        }
        wait_until_open_are_at_most(0, deadline);
        for (const auto& server : servers_)
            server->cancel(this);
    }

private:
    void ask(std::size_t index, const found_stream& stream, time_point deadline) {
        const std::string data = stream.endpoints.empty() ? "" : stream.endpoints.front();
        auto addresses = transport::reachable_services(stream.service, data, true);
        if (addresses.empty())
            return;
        const auto server = ctx_.clients.get(std::move(addresses));
        servers_.insert(server);
        wire::service_request request;
        request.op = op_;
        request.uid = stream.info.uid;
        {
            const std::lock_guard lock(mutex_);
            ++open_;
        }
        server->call(this, std::move(request), deadline,
                     [this, index](service::outcome how, const wire::service_reply* reply, double) {
                         const std::lock_guard lock(mutex_);
                         if (how == service::outcome::replied && reply->status == wire::reply_status::ok)
                             take_(index, *reply);
                         --open_;
                         answered_.notify_all(); // under the lock: whoever waits destroys this
                     });
    }

    bool wait_until_open_are_at_most(std::size_t count, time_point deadline) {
        std::unique_lock lock(mutex_);
        return platform::wait_until(answered_, lock, deadline, [&] { return open_ <= count; });
    }

    detail::context_impl& ctx_;
    const wire::service_op op_;
    const taker take_;
    std::set<std::shared_ptr<service::client>> servers_;
    std::mutex mutex_;
    std::condition_variable answered_;
    std::size_t open_ = 0;
};

template<class T>
std::vector<std::optional<T>> ask_all(std::span<const found_stream> streams, std::chrono::nanoseconds timeout,
                                      const std::optional<context>& chosen, wire::service_op op,
                                      const std::function<std::optional<T>(const wire::service_reply&)>& read) {
    const auto ctx = detail::usable(chosen);
    if (ctx->io.on_this_thread())
        throw error(errc::invalid_argument, "asking outlets: called from a callback on the I/O thread, which would "
                                            "have to bring the answers; use another thread");
    std::vector<std::optional<T>> out(streams.size());
    round_of_questions round(*ctx, op, [&](std::size_t i, const wire::service_reply& reply) { out[i] = read(reply); });
    round.run(streams, platform::deadline_after(platform::clock::now(), timeout));
    return out;
}

} // namespace

std::vector<std::optional<stream_info>> ask_info(std::span<const found_stream> streams,
                                                 std::chrono::nanoseconds timeout, const std::optional<context>& ctx) {
    return ask_all<stream_info>(streams, timeout, ctx, wire::service_op::info,
                                [](const wire::service_reply& reply) -> std::optional<stream_info> {
                                    wire::info_frame frame;
                                    if (wire::decode_info(reply.info, frame) != wire::frame_error::none)
                                        return std::nullopt;
                                    return std::move(frame.info);
                                });
}

std::vector<std::optional<outlet_stats>>
ask_stats(std::span<const found_stream> streams, std::chrono::nanoseconds timeout, const std::optional<context>& ctx) {
    return ask_all<outlet_stats>(
        streams, timeout, ctx, wire::service_op::stats,
        [](const wire::service_reply& reply) -> std::optional<outlet_stats> { return reply.stats; });
}

} // namespace rivulet
