#include <rivulet/error.hpp>

namespace rivulet {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "rivulet"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
        case errc::invalid_argument: return "invalid argument";
        case errc::shape_mismatch: return "wrong number of values";
        case errc::format_mismatch: return "wrong element type";
        case errc::closed: return "closed";
        case errc::bad_endpoint: return "bad endpoint";
        case errc::address_in_use: return "address in use";
        case errc::path_too_long: return "path too long";
        case errc::not_supported: return "not supported";
        case errc::not_connected: return "not connected";
        case errc::stream_lost: return "stream lost";
        case errc::limit_exceeded: return "limit exceeded";
        case errc::bad_frame: return "bad frame";
        case errc::bad_config: return "bad configuration";
        case errc::system: return "system error";
        }
        return "unknown rivulet error";
    }
};

} // namespace

const std::error_category& error_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

error::error(errc code, std::string message) : std::system_error(make_error_code(code)), message_(std::move(message)) {}

const char* error::what() const noexcept { return message_.c_str(); }

stream_lost::stream_lost(std::string message) : error(errc::stream_lost, std::move(message)) {}

} // namespace rivulet
