#include "core/outlet_service.hpp"

#include <algorithm>
#include <utility>

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
    uid_ = environment.info->uid;
    ctx_->services.add(uid_, *this);
}

void outlet_service::begin_stop() {
    ctx_->services.remove(*this);
    worker_.begin_stop();
}

void outlet_service::begin_segment(const std::string& uid) {
    ctx_->services.add(uid, *this);
    ctx_->services.forget(uid_before_);
    uid_before_ = std::exchange(uid_, uid);
}

std::shared_ptr<const std::vector<std::byte>> outlet_service::info_frame() {
    if (const auto current = environment_->segments->current(); info_of_ != current) {
        info_ = std::make_shared<const std::vector<std::byte>>(
            wire::encode_info(transport::describe_stream(*environment_, *current, 0, false)));
        info_of_ = current;
    }
    return info_;
}

service::target::history outlet_service::kept() const {
    const auto current = environment_->segments->current();
    return {environment_->log, current->base, current->info->uid, current->begin};
}

} // namespace rivulet::core
