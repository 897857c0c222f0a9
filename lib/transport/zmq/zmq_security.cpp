#include "transport/zmq/zmq_security.hpp"

#include <rivulet/error.hpp>

#include <fmt/format.h>

namespace rivulet::transport::zmq {
namespace {

constexpr std::string_view domain = "rivulet";

/// A mechanism that is not ours, or a first message that our key does not open.
bool mismatch(int event, int value) noexcept {
    return event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
}

constexpr std::string_view hung_up =
    "it hung up before it had proved a key: it has none, expects another one here, or only "
    "tried whether somebody listens";

void set_keys(zmq_socket& socket, const security::keyring& keys) {
    socket.set(ZMQ_CURVE_SECRETKEY, keys.secret_key().data(), keys.secret_key().size());
}

} // namespace

void require_curve() {
    if (::zmq_has("curve") != 0)
        return;
    int major = 0, minor = 0, patch = 0;
    ::zmq_version(&major, &minor, &patch);
    throw error(
        errc::not_supported,
        fmt::format("ZeroMQ: [security] secret_key needs CURVE, but this libzmq ({}.{}.{}) was built without it; "
                    "install one built with libsodium (Debian's libzmq5 is)",
                    major, minor, patch));
}

void secure_server(zmq_socket& socket, const security::keyring& keys, transport::endpoint& where) {
    if (!keys.curve())
        return;
    set_keys(socket, keys);
    socket.set(ZMQ_CURVE_SERVER, 1);
    // Where no ZAP handler answers libzmq lets in everybody: the runtime's is there before this and after the socket.
    socket.set(ZMQ_ZAP_DOMAIN, domain.data(), domain.size());
    where.key = keys.id();
}

void secure_client(zmq_socket& socket, const security::keyring& keys, const transport::endpoint& where) {
    if (!keys.curve())
        return;
    const security::key_bytes& server = keys.server(where.key, where.to_string());
    set_keys(socket, keys);
    socket.set(ZMQ_CURVE_PUBLICKEY, keys.public_key().data(), keys.public_key().size());
    socket.set(ZMQ_CURVE_SERVERKEY, server.data(), server.size());
}

std::string_view refusal_by_us(int event, int value, bool curve) {
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        return "its key is not among those let in";
    if (mismatch(event, value))
        return curve ? "it came without a key, but nobody is let in here without"
                     : "it wants encryption, which this endpoint has not";
    if (!curve)
        return {};
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
        return "it expects another key here, or is no consumer at all";
    // Of two that do not fit together the first to see it hangs up, and the other is not told why.
    return event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ? hung_up : std::string_view();
}

std::string_view refusal_of_us(int event, int value, bool curve) {
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        return "the outlet there refused this program's key; add its public key to the outlet's [security] clients";
    if (mismatch(event, value))
        return curve ? "what listens there is not encrypted, and is not spoken to: [security] secret_key is set here, "
                       "but not there"
                     : "what listens there is encrypted; set [security] secret_key here, and servers to its public key";
    return curve
               ? "what listens there hung up during the handshake: it has another key than expected, is not encrypted, "
                 "or is no outlet; check [security] servers"
               : "what listens there hung up during the handshake: it is encrypted, or no outlet";
}

} // namespace rivulet::transport::zmq
