#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::transport {

/// Adds to `out` how others reach an endpoint: nothing for inproc; for a wildcard host the `hosts` of [ports]
/// advertise, and then the wildcard itself, which stands for where the beacons come from.
/// @param asked the endpoint as the outlet's options have it. @param actual with its port or path.
void add_advertised(std::string_view asked, const std::string& actual, const std::vector<std::string>& hosts,
                    std::vector<std::string>& out);

/// Endpoints of a found stream in the order in which they are to be tried: unix sockets that can really be opened from
/// here, then those that accept a connection, in the order given, then the others. Tries them all at once, and waits at
/// most `patience` for a better one while a worse one would do; with a single candidate it does not try at all.
std::vector<std::string> order_endpoints(const std::vector<std::string>& endpoints, std::chrono::nanoseconds patience);

} // namespace rivulet::transport
