#include "transport/inproc/inproc_service.hpp"

#include "platform/reactor.hpp"
#include "transport/io_context.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace rivulet::transport::inproc {
namespace {

using platform::time_point;

constexpr std::size_t max_waiting = 1024; ///< requests of all askers that the service has not seen yet

/// Frames on their way to a handler, which is posted when there are some. Shared by both ends: either may go first.
template<class Item>
class inbox {
public:
    inbox(platform::reactor& io, platform::io_handler& handler, std::size_t limit)
        : io_(io), handler_(&handler), limit_(limit) {}

    /// False: closed, or full.
    bool put(Item item) {
        const std::lock_guard lock(mutex_);
        if (!handler_ || items_.size() >= limit_)
            return false;
        items_.push_back(std::move(item));
        io_.post(*handler_);
        return true;
    }
    std::deque<Item> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(items_, {});
    }
    /// Nothing is posted any more.
    void close() {
        const std::lock_guard lock(mutex_);
        handler_ = nullptr;
        items_.clear();
    }

private:
    std::mutex mutex_;
    platform::reactor& io_;
    platform::io_handler* handler_;
    const std::size_t limit_;
    std::deque<Item> items_;
};

using frame = std::vector<std::byte>;
using replies = inbox<frame>; ///< an empty frame says: the service has closed

struct service_core {
    struct request {
        asker from = 0;
        frame bytes;
    };
    service_core(platform::reactor& io, platform::io_handler& handler) : requests(io, handler, max_waiting) {}

    inbox<request> requests;
    std::mutex mutex;
    std::map<asker, std::shared_ptr<replies>> askers;
    asker next = 1;
    bool closed = false;
};

/// Names in use. Never destroyed.
class switchboard {
public:
    static switchboard& instance() {
        static auto* const board = new switchboard();
        return *board;
    }
    std::string add(const std::shared_ptr<service_core>& core) {
        const std::lock_guard lock(mutex_);
        std::string name = "rivulet-service-" + std::to_string(next_++);
        services_.emplace(name, core);
        return name;
    }
    void remove(const std::string& name) {
        const std::lock_guard lock(mutex_);
        services_.erase(name);
    }
    std::shared_ptr<service_core> find(const std::string& name) {
        const std::lock_guard lock(mutex_);
        const auto found = services_.find(name);
        return found == services_.end() ? nullptr : found->second;
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<service_core>> services_;
    std::uint64_t next_ = 1;
};

class inproc_listener final : public service_listener, public platform::io_handler {
public:
    inproc_listener(transport::endpoint where, io_context& io, request_sink& sink)
        : io_(io), sink_(sink), core_(std::make_shared<service_core>(io.io, *this)) {
        where.path = name_ = switchboard::instance().add(core_);
        endpoint_ = where.to_string();
    }
    ~inproc_listener() override { close(); }

    const std::string& endpoint() const noexcept override { return endpoint_; }

    void reply(asker to, frame bytes) override {
        std::shared_ptr<replies> line;
        {
            const std::lock_guard lock(core_->mutex);
            if (const auto found = core_->askers.find(to); found != core_->askers.end())
                line = found->second;
        }
        if (line)
            line->put(std::move(bytes));
    }

    void close() override {
        std::map<asker, std::shared_ptr<replies>> askers;
        {
            const std::lock_guard lock(core_->mutex);
            if (std::exchange(core_->closed, true))
                return;
            askers.swap(core_->askers);
        }
        switchboard::instance().remove(name_);
        core_->requests.close();
        io_.io.forget(*this);
        for (const auto& [id, line] : askers)
            line->put({});
    }

    void on_ready(int, std::uint32_t) override {}
    void on_turn(time_point) override {
        for (const auto& request : core_->requests.take())
            sink_.on_request(*this, request.from, request.bytes);
    }

private:
    io_context& io_;
    request_sink& sink_;
    const std::shared_ptr<service_core> core_;
    std::string name_;
    std::string endpoint_;
};

class inproc_connection final : public service_connection, public platform::io_handler {
public:
    inproc_connection(const transport::endpoint& where, io_context& io, reply_sink& sink)
        : io_(io), sink_(sink), core_(switchboard::instance().find(where.path)),
          replies_(std::make_shared<replies>(io.io, *this, SIZE_MAX)) {}
    /// When it is owned: from here on the I/O thread calls.
    void start() {
        if (core_) {
            const std::lock_guard lock(core_->mutex);
            id_ = core_->next++;
            broken_ = core_->closed;
            if (!broken_)
                core_->askers.emplace(id_, replies_);
        } else {
            broken_ = true;
        }
        io_.io.post(*this);
    }
    ~inproc_connection() override { close(); }

    bool send(frame bytes) override { return !broken_ && core_->requests.put({id_, std::move(bytes)}); }

    void close() override {
        if (closed_.exchange(true))
            return;
        if (core_) {
            const std::lock_guard lock(core_->mutex);
            core_->askers.erase(id_);
        }
        replies_->close();
        io_.io.forget(*this);
    }

    void on_ready(int, std::uint32_t) override {}
    void on_turn(time_point) override {
        const auto self = weak_from_this().lock();
        if (!broken_ && !std::exchange(opened_, true))
            sink_.on_open();
        for (const frame& bytes : replies_->take()) {
            if (closed_)
                return;
            if (bytes.empty())
                broken_ = true;
            else
                sink_.on_reply(bytes);
        }
        if (broken_ && !closed_ && !std::exchange(told_, true))
            sink_.on_broken("the outlet's context has closed its service");
    }

private:
    io_context& io_;
    reply_sink& sink_;
    const std::shared_ptr<service_core> core_;
    const std::shared_ptr<replies> replies_;
    asker id_ = 0;
    std::atomic<bool> broken_{false};
    std::atomic<bool> closed_{false};
    bool opened_ = false; ///< I/O thread
    bool told_ = false;   ///< I/O thread
};

} // namespace

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink) {
    return std::make_shared<inproc_listener>(where, io, sink);
}

std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t) {
    const auto made = std::make_shared<inproc_connection>(where, io, sink);
    made->start();
    return made;
}

} // namespace rivulet::transport::inproc
