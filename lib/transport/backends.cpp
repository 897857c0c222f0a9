#include "transport/backends.hpp"

#include "transport/inproc/inproc_link.hpp"
#include "transport/inproc/inproc_service.hpp"
#include "transport/posix/posix_inlet_link.hpp"
#include "transport/posix/posix_outlet_link.hpp"
#include "transport/posix/posix_service_connection.hpp"
#include "transport/posix/posix_service_listener.hpp"
#include "transport/zmq/zmq_inlet_link.hpp"
#include "transport/zmq/zmq_outlet_link.hpp"
#include "transport/zmq/zmq_service_connection.hpp"
#include "transport/zmq/zmq_service_listener.hpp"

#include <algorithm>
#include <array>

namespace rivulet::transport {
namespace {

constexpr backend over_zmq(std::string_view scheme) {
    return {scheme, zmq::listen, zmq::connect, zmq::listen_service, zmq::connect_service};
}
constexpr backend over_posix(std::string_view scheme) {
    return {scheme, posix::listen, posix::connect, posix::listen_service, posix::connect_service};
}

/// The only list of backends.
constexpr std::array backends{
    backend{"inproc", inproc::listen, inproc::connect, inproc::listen_service, inproc::connect_service},
    over_zmq("zmq+tcp"),
    over_zmq("zmq+ipc"),
    over_posix("posix+tcp"),
    over_posix("posix+unix"),
    over_posix("posix+sctp"),
};

} // namespace

const backend* find_backend(std::string_view scheme) noexcept {
    const auto found = std::ranges::find(backends, scheme, &backend::scheme);
    return found == backends.end() ? nullptr : &*found;
}

} // namespace rivulet::transport
