#include "bench/rivulet_ends.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>

namespace rivulet::tools::bench {
namespace {

constexpr auto patience = std::chrono::seconds(30);
constexpr std::size_t pull_bytes = 64u << 10;

} // namespace

rivulet_sender::rivulet_sender(const work& w, const std::string& path, const config& settings)
    : work_(w), count_(w.channels * w.chunk) {
    const context ctx(settings);
    for (std::size_t i = 0; i < w.streams; ++i) {
        const stream_info info{.name = fmt::format("bench{}", i),
                               .channel_count = w.channels,
                               .nominal_rate_hz = w.rate_hz,
                               .format = w.int16 ? channel_format::int16 : channel_format::float32,
                               .source_id = own_source_id(i)};
        const outlet& out = outlets_.emplace_back(
            info, outlet_options{.endpoints = {own_endpoint(w.over, fmt::format("{}{}", path, i))},
                                 .mode = w.how == way::sync ? delivery::sync : delivery::async,
                                 .full = w.how == way::async_wait ? on_full::wait : on_full::drop_oldest,
                                 .buffer = w.buffer_bytes,
                                 .linger = patience,
                                 .ctx = ctx});
        endpoints_ += fmt::format("{}{}", i == 0 ? "" : " ", out.endpoints().front());
    }
}

void rivulet_sender::wait_for_consumers() {
    for (const outlet& out : outlets_)
        if (work_.consumers > 0 && !out.wait_for_consumers(patience, work_.consumers))
            throw std::runtime_error("the inlets did not come");
}

void rivulet_sender::finish() {
    for (outlet& out : outlets_)
        out.stop();
}

rivulet_receiver::rivulet_receiver(const work& w, const std::string& endpoints, const config& settings) : work_(w) {
    const context ctx(settings);
    std::istringstream list(endpoints);
    for (std::string endpoint; list >> endpoint;)
        inlets_.emplace_back(endpoint,
                             inlet_options{.full = w.how == way::async ? when_full::drop_oldest : when_full::hold,
                                           .max_buffered = w.buffer_bytes,
                                           .open_timeout = patience,
                                           .busy_poll = w.busy_poll,
                                           .ctx = ctx});
    for (inlet& in : inlets_)
        open_.push_back(&in);
    // For ages each chunk counts: a pull is to return one.
    const std::size_t samples = w.latency ? w.chunk : std::max<std::size_t>(w.chunk, pull_bytes / w.sample_bytes());
    values_.resize(samples * w.sample_bytes());
    stamps_.resize(samples);
}

arrival rivulet_receiver::receive() {
    arrival got;
    for (;;) {
        if (open_.empty()) {
            got.ended = true;
            return got;
        }
        if (open_.size() > 1 && ready_.empty())
            ready_ = wait_any(open_, forever);
        const std::size_t which = open_.size() > 1 ? ready_.back() : 0;
        inlet& in = *open_[which];
        const auto timeout = open_.size() > 1 ? std::chrono::nanoseconds(0) : forever;
        const pull_result r = work_.int16 ? pull<std::int16_t>(in, timeout) : pull<float>(in, timeout);
        got.lost += r.lost_before;
        if (r.status != pull_status::data && !ready_.empty())
            ready_.pop_back();
        if (r.status == pull_status::ended) {
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
            ready_.clear();
        }
        if (r.status == pull_status::data) {
            got.samples = r.samples;
            got.stamp = stamps_[r.samples - 1];
            return got;
        }
    }
}

} // namespace rivulet::tools::bench
