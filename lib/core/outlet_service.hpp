#pragma once

#include "core/context_impl.hpp"
#include "core/control_worker.hpp"
#include "service/server.hpp"
#include "transport/transport.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace rivulet::core {

/// What an outlet answers beside its data. Threads: as service::target; set_handler and stop from any.
class outlet_service final : public service::target {
public:
    /// Opens what listeners are needed for data on these endpoints (as the outlet was asked to listen).
    outlet_service(std::shared_ptr<detail::context_impl> ctx, std::span<const std::string> data_endpoints,
                   std::string stream);

    /// Where requests are answered, for the info frame and the advert; those of inproc included.
    const std::vector<std::string>& endpoints() const noexcept { return endpoints_; }

    /// Begins to answer. @param stats of the outlet.
    void start(const transport::outlet_environment& environment, std::function<outlet_stats()> stats);
    /// The outlet has another uid; requests that name the one before are answered as well.
    void begin_segment(const std::string& uid);
    void set_handler(control_worker::handler wanted, control_thread where) {
        worker_.set_handler(std::move(wanted), where);
    }
    /// Answers no more.
    void begin_stop();
    /// Waits for a handler under way until the deadline.
    void stop(platform::time_point deadline) { worker_.stop(deadline); }
    /// Closes listeners that nobody else needs.
    void release() { leases_.clear(); }

    std::shared_ptr<const std::vector<std::byte>> info_frame() override;
    outlet_stats stats() const override { return stats_(); }
    history kept() const override;
    std::function<void()> on_control(service::control_call call) override { return worker_.submit(std::move(call)); }

private:
    const std::shared_ptr<detail::context_impl> ctx_;
    std::vector<service::server::lease> leases_;
    std::vector<std::string> endpoints_;
    control_worker worker_;
    const transport::outlet_environment* environment_ = nullptr;
    std::function<outlet_stats()> stats_;
    std::string uid_, uid_before_;                       ///< the outlet's producer lock
    std::shared_ptr<const std::vector<std::byte>> info_; ///< made when it is first asked for; I/O thread
    transport::segment_share info_of_;                   ///< what it describes
};

} // namespace rivulet::core
