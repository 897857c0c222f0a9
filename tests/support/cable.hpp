#pragma once

#include <memory>
#include <string>

namespace rivulet::support {

/// What lies between an inlet and an outlet, and can be pulled out: listens on an endpoint of the same kind as the
/// outlet's and passes on every byte both ways. Threads: any.
class cable {
public:
    /// @param outlet an endpoint to connect to, of TCP or a path.
    explicit cable(const std::string& outlet);
    ~cable();
    cable(const cable&) = delete;
    cable& operator=(const cable&) = delete;

    /// For the inlet.
    const std::string& endpoint() const noexcept;

    /// Ends all connections at once, with what is on its way, and new ones as they come.
    void cut();
    /// Nothing passes any more, and nobody is told: as without power. Nobody can connect, either.
    void freeze();
    /// New connections pass again. Those that were frozen stay so.
    void restore();
    /// New connections lead to another outlet.
    void lead_to(const std::string& outlet);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace rivulet::support
