#pragma once

#include "transport/service_link.hpp"
#include "transport/transport.hpp"

#include <memory>
#include <string_view>

namespace rivulet::transport {

/// What a backend offers for one scheme.
struct backend {
    std::string_view scheme;
    std::unique_ptr<outlet_link> (*listen)(const endpoint&, const outlet_environment&);
    std::unique_ptr<inlet_link> (*connect)(const endpoint&, const inlet_environment&);
    std::shared_ptr<service_listener> (*listen_service)(const endpoint&, io_context&, request_sink&);
    std::shared_ptr<service_connection> (*connect_service)(const endpoint&, io_context&, reply_sink&, std::size_t);
};

/// nullptr: this build has none for the scheme.
const backend* find_backend(std::string_view scheme) noexcept;

} // namespace rivulet::transport
