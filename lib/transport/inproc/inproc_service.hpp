#pragma once

#include "transport/service_link.hpp"

#include <memory>

/// The service inside one process: requests and replies go from I/O thread to I/O thread. Names are process-wide.
namespace rivulet::transport::inproc {

std::shared_ptr<service_listener> listen_service(const endpoint& where, io_context& io, request_sink& sink);
std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes);

} // namespace rivulet::transport::inproc
