#pragma once

#include "security/keyring.hpp"
#include "transport/endpoint.hpp"
#include "transport/zmq/zmq_runtime.hpp"

#include <cstdint>
#include <string_view>

/// CURVE on sockets; nothing here does anything where the context has no key. Threads: as the sockets.
namespace rivulet::transport::zmq {

/// Bytes by which CURVE makes a message longer at most: command name, nonce, MAC, flags.
inline constexpr std::int64_t curve_overhead = 64;

/// @throws error not_supported: this libzmq was built without CURVE.
void require_curve();

/// Before bind: whoever connects must have a key that the context's ZAP handler admits. Says so in the endpoint.
void secure_server(zmq_socket& socket, const security::keyring& keys, transport::endpoint& where);
/// Before connect. @throws error not_supported: it is not known which key the server has.
void secure_client(zmq_socket& socket, const security::keyring& keys, const transport::endpoint& where);

/// Events of a socket monitor that say that a connection was refused, or refused us, before it was one.
inline constexpr int refusal_events =
    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

/// What a listening socket can say of somebody whose handshake failed; empty: nothing that has to do with keys.
std::string_view refusal_by_us(int event, int value, bool curve);
/// The same for a socket that connects.
std::string_view refusal_of_us(int event, int value, bool curve);

} // namespace rivulet::transport::zmq
