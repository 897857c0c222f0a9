#pragma once

#include "security/keyring.hpp"
#include "transport/endpoint.hpp"

#include <string_view>

/// What [security] allows. Threads: any.
namespace rivulet::transport {

class io_context;

/// Whether data or requests may go over an endpoint. Says in the log where they will be plain although there are keys.
/// @throws error not_supported: they would be plain where security is required; the key is not known, or there is none
/// of our own.
void check_policy(const endpoint& where, endpoint_use use, io_context& io);

/// Whether an endpoint that somebody advertises can be used at all: false where it would be plain and must not be.
/// Never throws for texts that are no endpoints: those are false.
bool acceptable(std::string_view advertised, const security::keyring& keys);

} // namespace rivulet::transport
