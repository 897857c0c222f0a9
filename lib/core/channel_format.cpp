#include <rivulet/channel_format.hpp>

#include <array>
#include <utility>

namespace rivulet {
namespace {

constexpr std::array<std::pair<channel_format, std::string_view>, 8> names{{
    {channel_format::float32, "float32"},
    {channel_format::float64, "float64"},
    {channel_format::string, "string"},
    {channel_format::int32, "int32"},
    {channel_format::int16, "int16"},
    {channel_format::int8, "int8"},
    {channel_format::int64, "int64"},
    {channel_format::blob, "blob"},
}};

} // namespace

std::string_view to_string(channel_format format) noexcept {
    for (const auto& [value, name] : names)
        if (value == format)
            return name;
    return "unknown";
}

std::optional<channel_format> parse_channel_format(std::string_view text) noexcept {
    for (const auto& [value, name] : names)
        if (name == text)
            return value;
    return std::nullopt;
}

} // namespace rivulet
