#pragma once

#include <rivulet/export.hpp>

#include <string>
#include <system_error>

namespace rivulet {

/// What went wrong, for programs; the message of the error says it for people.
enum class errc {
    invalid_argument = 1, ///< a value outside its range: zero channels, a NaN rate, an empty name
    shape_mismatch,       ///< the number of values is no multiple of the channel count, or stamps do not fit
    format_mismatch,      ///< the element type cannot be used with this stream's channel format
    closed,               ///< the handle was closed, moved from, or inherited by a forked child
    bad_endpoint,         ///< an endpoint string that cannot be parsed or used
    address_in_use,       ///< somebody else already serves this endpoint
    path_too_long,        ///< a socket path beyond what the operating system takes
    not_supported,        ///< this combination is not offered (sync with strings, a scheme without a backend)
    not_connected,        ///< no outlet answered in time
    stream_lost,          ///< the outlet is gone and did not come back
    limit_exceeded,       ///< more than a stated limit allows (max_frame, consumers, sockets)
    bad_frame,            ///< bytes that are no valid frame
    bad_config,           ///< a configuration file or environment variable that cannot be used
    system                ///< the operating system refused; the message carries its reason
};

RIVULET_API const std::error_category& error_category() noexcept;
RIVULET_API std::error_code make_error_code(errc code) noexcept;

/// Thrown by constructors and on misuse. what() says what failed, on which endpoint or field, and what to do.
class RIVULET_API error : public std::system_error {
public:
    error(errc code, std::string message);
    const char* what() const noexcept override;

private:
    std::string message_;
};

/// Thrown by pull when the outlet is gone and did not come back within `lost_after`.
class RIVULET_API stream_lost : public error {
public:
    explicit stream_lost(std::string message);
};

} // namespace rivulet

template<>
struct std::is_error_code_enum<rivulet::errc> : std::true_type {};
