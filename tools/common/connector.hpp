#pragma once

#include <rivulet/inlet.hpp>
#include <rivulet/resolver.hpp>

#include <memory>
#include <string>
#include <variant>

namespace rivulet::tools {

/// Something that threads can write to and poll can wait on.
class wake_event {
public:
    wake_event();
    ~wake_event();
    wake_event(const wake_event&) = delete;
    wake_event& operator=(const wake_event&) = delete;

    int fd() const noexcept { return fd_; }
    void set() noexcept;
    void clear() noexcept;

private:
    int fd_;
};

/// What an inlet is opened on: an endpoint, or a stream that was found.
using stream_source = std::variant<std::string, found_stream>;
/// The same source once it is back: a stream with another uid, and the same source id or, without one, name and type.
struct successor {
    found_stream of;
};

/// Opens an inlet on a thread of its own ("connector"), since opening may take as long as its timeout and cannot be
/// interrupted. A connector that is destroyed before it is done leaves its thread behind: then the process has to end
/// by leave().
class connector {
public:
    /// `wake` is set when it is done. @param clock_patience how long it may last until the stream's clock is known.
    connector(std::variant<stream_source, successor> what, inlet_options options, std::shared_ptr<wake_event> wake,
              std::chrono::nanoseconds clock_patience);

    bool done() const;
    /// Once done. @throws what the inlet's constructor threw.
    inlet take();

private:
    struct state;
    std::shared_ptr<state> state_;
};

/// Ends main: at once, without the destructors of static objects, if threads of connectors are still at work.
int leave(int exit_code);

} // namespace rivulet::tools
