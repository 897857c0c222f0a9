#include "core/outlet_service.hpp"

#include <algorithm>

namespace rivulet::core {
namespace {

constexpr std::size_t max_endpoints = 16; ///< of an info frame

} // namespace

outlet_service::outlet_service(std::shared_ptr<detail::context_impl> ctx, std::span<const std::string> data_endpoints,
                               std::string stream)
    : ctx_(std::move(ctx)), worker_(ctx_->log, std::move(stream)) {
    for (const std::string& data : data_endpoints) {
        const auto lease = ctx_->services.open_for(data);
        if (!lease || std::ranges::count(endpoints_, lease->endpoint()) != 0 || endpoints_.size() == max_endpoints)
            continue;
        endpoints_.push_back(lease->endpoint());
        leases_.push_back(lease);
    }
}

void outlet_service::start(const transport::outlet_environment& environment, std::function<outlet_stats()> stats) {
    environment_ = &environment;
    stats_ = std::move(stats);
    ctx_->services.add(environment.info->uid, *this);
}

void outlet_service::begin_stop() {
    ctx_->services.remove(*this);
    worker_.begin_stop();
}

std::shared_ptr<const std::vector<std::byte>> outlet_service::info_frame() {
    if (!info_)
        info_ = std::make_shared<const std::vector<std::byte>>(
            wire::encode_info(transport::describe_stream(*environment_, 0, false)));
    return info_;
}

service::target::history outlet_service::kept() const { return {environment_->log, 0, environment_->info->uid}; }

} // namespace rivulet::core
