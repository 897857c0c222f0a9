#pragma once

#include "platform/log.hpp"
#include "platform/reactor.hpp"
#include "security/keyring.hpp"

#include <rivulet/config.hpp>

#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>

namespace rivulet::transport {

/// What all links of a context share: settings, keys, the log, the I/O thread, and one object a backend (made at its
/// first use). Threads: any.
class io_context {
public:
    /// @throws error bad_config: a key file that cannot be used.
    explicit io_context(config values)
        : settings(std::move(values)), keys(std::make_shared<security::keyring>(settings.security)),
          log(platform::make_logger(settings.log)), io("rivulet-io") {}
    virtual ~io_context() = default;

    const config settings;
    const std::shared_ptr<const security::keyring> keys;
    const std::shared_ptr<platform::logger> log;
    platform::reactor io;

    /// The backend's shared object of type T, made by its constructor from (const io_context&) at the first call.
    template<class T>
    std::shared_ptr<T> backend() {
        const std::lock_guard lock(mutex_);
        auto& slot = backends_[typeid(T)];
        if (!slot)
            slot = std::make_shared<T>(*this);
        return std::static_pointer_cast<T>(slot);
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::type_index, std::shared_ptr<void>> backends_;
};

} // namespace rivulet::transport
