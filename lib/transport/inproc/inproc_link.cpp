#include "transport/inproc/inproc_link.hpp"

#include "transport/inproc/hub.hpp"

namespace rivulet::transport::inproc {
namespace {

class inproc_outlet_link final : public outlet_link {
public:
    inproc_outlet_link(const transport::endpoint& where, const outlet_environment& environment)
        : hub_(std::make_shared<hub>(where.to_string(), environment)) {
        directory::instance().add(hub_);
    }
    ~inproc_outlet_link() override { close(time_point::min()); }

    const std::string& endpoint() const noexcept override { return hub_->endpoint(); }
    std::size_t consumer_count() const override { return hub_->size(); }
    void add_stats(outlet_stats& stats) const override { hub_->add_stats(stats); }
    bool drained() const override { return hub_->drained(); }
    void begin_send(const sync_frame& frame, time_point deadline) override { hub_->begin_send(frame, deadline); }
    bool progress(time_point now, poll_set& wait) override { return hub_->progress(now, wait); }
    void abort_send() override { hub_->abort_send(); }
    void begin_segment() override { hub_->begin_segment(); }
    bool sends_directly() const noexcept override { return true; }
    void close(time_point) override {
        directory::instance().remove(hub_);
        hub_->close();
    }

private:
    std::shared_ptr<hub> hub_;
};

class inproc_inlet_link final : public inlet_link {
public:
    inproc_inlet_link(const transport::endpoint& where, const inlet_environment& environment)
        : attachment_(std::make_shared<attachment>()) {
        attachment_->environment = environment;
        attachment_->id = environment.sink->where_to_resume().id;
        directory::instance().connect(where.to_string(), attachment_, &hub_);
    }
    ~inproc_inlet_link() override { close(); }

    int fd() const noexcept override { return -1; }
    bool pump(time_point, std::size_t) override {
        attachment_->environment.sink->ready_for_data(); // what it held back has room now, also after the last frame
        if (const auto h = hub_.lock())
            h->room_made();
        return false;
    }
    void reconnect(time_point) override {} // an outlet of this process does not fall silent
    void close() override {
        directory::instance().stop_waiting(attachment_);
        if (const auto h = hub_.lock())
            h->detach(attachment_);
    }

private:
    std::shared_ptr<attachment> attachment_;
    std::weak_ptr<hub> hub_; ///< written under the directory's lock, before the greeting
};

} // namespace

std::unique_ptr<outlet_link> listen(const transport::endpoint& where, const outlet_environment& environment) {
    return std::make_unique<inproc_outlet_link>(where, environment);
}

std::unique_ptr<inlet_link> connect(const transport::endpoint& where, const inlet_environment& environment) {
    return std::make_unique<inproc_inlet_link>(where, environment);
}

} // namespace rivulet::transport::inproc
