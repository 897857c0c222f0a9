#pragma once

#include "transport/endpoint.hpp"
#include "wire/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Requests and replies between processes, as frames whose meaning is lib/service's business. Every backend has a
/// listener and a connection. All calls of sinks come on the I/O thread of the context that the link was opened with,
/// without a lock of the link held, so that they may call back into it.
namespace rivulet::transport {

class io_context;
class service_listener;

using asker = std::uint64_t; ///< one connection of a listener; never used twice

// --- the side that answers ------------------------------------------------------------------------------------------

class request_sink {
public:
    virtual ~request_sink() = default;
    virtual void on_request(service_listener& link, asker from, wire::bytes_view frame) = 0;
};

/// Accepts connections, takes requests of at most wire::max_request_bytes, and keeps bad clients from harming others:
/// a request that does not become complete within 5 s, a connection that sends none within 10 s, and one that does not
/// take its replies are dropped; beyond 1000 connections the one that has been quiet for longest is.
class service_listener : public std::enable_shared_from_this<service_listener> {
public:
    virtual ~service_listener() = default;
    /// With its actual port or path; the host as it was asked for, `*` for any. Constant.
    virtual const std::string& endpoint() const noexcept = 0;
    /// Sends, or queues as much as the limits allow; a connection that has ended is no error. Any thread.
    virtual void reply(asker to, std::vector<std::byte> frame) = 0;
    /// When it returns, on_request is not running (unless this is its thread) and will not be called.
    virtual void close() = 0;
};

/// Listens on `where` (of a scheme with a backend; no port, no path or just a folder: one is chosen).
/// @throws error address_in_use, system, bad_endpoint, path_too_long, not_supported.
std::shared_ptr<service_listener> open_service_listener(const endpoint& where, io_context& io, request_sink& sink);

// --- the side that asks ---------------------------------------------------------------------------------------------

class reply_sink {
public:
    virtual ~reply_sink() = default;
    virtual void on_open() = 0;
    virtual void on_reply(wire::bytes_view frame) = 0;
    /// It could not be made, or has ended: whatever was sent will not be answered. The last call.
    virtual void on_broken(std::string_view reason) = 0;
};

/// One connection to a listener: never made again once it has ended, so that nothing is ever sent twice. Its sink may
/// let go of it in a call of its own.
class service_connection : public std::enable_shared_from_this<service_connection> {
public:
    virtual ~service_connection() = default;
    /// After on_open. False: too much waits to be sent already, or it is broken; then nothing of it is ever sent.
    virtual bool send(std::vector<std::byte> frame) = 0;
    /// When it returns, no call of the sink is running (unless this is its thread) and none will come.
    virtual void close() = 0;
};

/// Begins to connect; hosts must be addresses, as names would take time. Failures are told by on_broken.
/// @throws error not_supported, system.
std::shared_ptr<service_connection> connect_service(const endpoint& where, io_context& io, reply_sink& sink,
                                                    std::size_t max_reply_bytes);

// --- addresses ------------------------------------------------------------------------------------------------------

/// Where a context that serves data on `data` is to answer requests: same scheme, same host (or folder), free choice
/// of the rest. Equal results may share one listener. The path ends with / where it is a folder only.
endpoint service_address_for(const endpoint& data);

/// The endpoint once for each address of its host; itself where it names none, or one that cannot be found. May take
/// seconds.
std::vector<std::string> numeric_forms(std::string_view data);

/// The endpoints of an info frame's `service` list as a consumer of `data` can try to reach them, best first: a
/// wildcard host is the one that data was reached on. Names are resolved, which may take seconds, unless `names` is
/// false: then endpoints with names are left out. What cannot be used is left out.
std::vector<endpoint> reachable_services(const std::vector<std::string>& service, std::string_view data, bool names);

} // namespace rivulet::transport
