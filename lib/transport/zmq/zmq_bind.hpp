#pragma once

#include "transport/endpoint.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <rivulet/config.hpp>

#include <cstdint>
#include <string>

/// What all ZeroMQ links do alike.
namespace rivulet::transport::zmq {

/// The endpoint as libzmq writes it: tcp://host:port, ipc://path.
std::string zmq_address(const endpoint& where);

/// TCP keep-alive, where there is TCP.
void keep_alive(zmq_socket& socket, const endpoint& where);

/// Binds; a port of 0 is any, or one of the range where there is one. @return the port in use, 0 for paths.
/// @throws error address_in_use, bad_endpoint, system.
std::uint16_t bind(zmq_socket& socket, const endpoint& where, const config::ports_section& range);

} // namespace rivulet::transport::zmq
