#pragma once

#include "transport/endpoint.hpp"
#include "transport/transport.hpp"

#include <memory>

/// Links inside one process: an inlet reads the outlet's sample log itself (async), or gets its frames from the pushing
/// thread (sync). Names are process-wide; nothing is advertised.
namespace rivulet::transport::inproc {

std::unique_ptr<outlet_link> listen(const endpoint& where, const outlet_environment& environment);
std::unique_ptr<inlet_link> connect(const endpoint& where, const inlet_environment& environment);

} // namespace rivulet::transport::inproc
