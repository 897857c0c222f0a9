#pragma once

#include "core/context_impl.hpp"
#include "discovery/beacon_service.hpp"
#include "platform/event_fd.hpp"
#include "platform/fork_guard.hpp"

#include <rivulet/resolver.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace rivulet::detail {

/// A resolver. Threads: the I/O thread reports streams; everything else from any thread.
class resolver_impl final : public discovery::stream_listener {
public:
    resolver_impl(stream_selector selector, const std::optional<context>& ctx, bool keeps_events = true);
    ~resolver_impl() override;

    std::vector<found_stream> streams() const;
    std::vector<stream_event> take_events();
    void set_callback(std::function<void(const stream_event&)> callback);
    bool wait_for(std::size_t count, std::chrono::nanoseconds timeout) const;
    bool wait_until_settled(std::chrono::nanoseconds timeout) const;
    bool settled() const;
    int wait_fd() const noexcept { return wait_fd_.get(); }
    void close();
    bool inert() const noexcept { return fork_.in_child(); }
    /// What there is besides, for messages: names of streams that do not match.
    std::vector<std::string> others() const;

    void on_stream(const stream_event& event) override;
    void on_settled() override;

private:
    static bool put(std::vector<found_stream>& ways, const found_stream& stream);
    bool take(const std::string& group, const std::string& uid);
    template<class Condition>
    bool wait(std::chrono::nanoseconds timeout, Condition condition) const;

    const platform::fork_guard fork_;
    const std::shared_ptr<context_impl> ctx_;
    const stream_selector selector_;
    const bool keeps_events_;
    platform::event_fd wait_fd_; ///< readable while events_ has any, once settled, once closed

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    /// The streams that match: by lineage all the ways they come, the shortest first, which is what others see; where
    /// any way is meant, by uid.
    std::map<std::string, std::vector<found_stream>> streams_;
    std::size_t originals_ = 0;                 ///< of those that others see
    std::map<std::string, std::string> others_; ///< names by uid, some of them
    std::vector<stream_event> events_;
    bool settled_ = false;
    bool closed_ = false;

    std::recursive_mutex callback_mutex_; ///< held while the callback runs; taken before mutex_
    std::function<void(const stream_event&)> callback_;
};

} // namespace rivulet::detail
