#pragma once

#include "discovery/beacon_service.hpp"

#include <functional>
#include <string>
#include <utility>

namespace rivulet::discovery {

/// Tells of the streams of one source id, or of one uid, for as long as it lives: first of those that are there, then
/// of every change. Searches at once. The callback runs on the I/O thread, must be brief, and may destroy nothing that
/// it runs in; see beacon_service::remove for the destructor.
class source_watch final : public stream_listener {
public:
    using callback = std::function<void(const stream_event&)>;

    /// @param source_id of the streams; empty: of any. @param uid likewise. At least one of them is given.
    /// @throws error not_supported: discovery is off.
    source_watch(beacon_service& service, std::string source_id, std::string uid, callback told)
        : service_(service), source_id_(std::move(source_id)), uid_(std::move(uid)), told_(std::move(told)) {
        service_.add(*this);
    }
    ~source_watch() override { service_.remove(*this); }
    source_watch(const source_watch&) = delete;
    source_watch& operator=(const source_watch&) = delete;

    void on_stream(const stream_event& event) override {
        const stream_info& info = event.stream.info;
        if ((source_id_.empty() || info.source_id == source_id_) && (uid_.empty() || info.uid == uid_))
            told_(event);
    }

private:
    beacon_service& service_;
    const std::string source_id_, uid_;
    const callback told_;
};

} // namespace rivulet::discovery
