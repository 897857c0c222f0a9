#include "transport/policy.hpp"

#include "transport/io_context.hpp"

#include <rivulet/error.hpp>

#include <fmt/format.h>

namespace rivulet::transport {
namespace {

void check_zmq(const endpoint& where, endpoint_use use, const security::keyring& keys) {
    const std::string text = where.to_string();
    if (!keys.curve()) {
        if (where.key.empty())
            return; // that required = true goes with a key was checked when the configuration was
        throw error(
            errc::not_supported,
            fmt::format("endpoint {}: it is encrypted, and this program has no key; set [security] secret_key "
                        "(stream-keygen makes one), servers to the outlet's public key, and have yours added to "
                        "the outlet's clients",
                        text));
    }
    if (use == endpoint_use::connect)
        keys.server(where.key, text);
    else if (!where.key.empty() && where.key != keys.id())
        throw error(errc::not_supported,
                    fmt::format("endpoint {}: the key of this program is {}; leave ?key= away", text, keys.id()));
}

} // namespace

void check_policy(const endpoint& where, endpoint_use use, io_context& io) {
    if (where.kind == endpoint::family::name) // inside the process
        return;
    if (where.over_zmq())
        return check_zmq(where, use, *io.keys);
    if (io.keys->required())
        throw error(errc::not_supported,
                    fmt::format("endpoint {}: security is required ([security] required = true), and links of plain "
                                "sockets are neither encrypted nor authenticated; use zmq+tcp or zmq+ipc",
                                where.to_string()));
    if (io.keys->curve())
        io.log->warn("posix_plain", {{"endpoint", where.to_string()}},
                     "[security] secret_key protects zmq links only: this one is neither encrypted nor authenticated; "
                     "use zmq+tcp or zmq+ipc, and required = true to have the others refused");
}

bool acceptable(std::string_view advertised, const security::keyring& keys) {
    if (!keys.curve())
        return true; // an encrypted one says so when it is opened
    try {
        const endpoint where = parse_endpoint(advertised, endpoint_use::listen); // hosts may be wildcards
        return where.over_zmq() ? !where.key.empty() : !keys.required();
    } catch (const error&) {
        return false;
    }
}

} // namespace rivulet::transport
