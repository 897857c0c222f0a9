#pragma once

#include <rivulet/channel_format.hpp>
#include <rivulet/export.hpp>
#include <rivulet/metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet {

/// A nominal rate that says: samples come when they come.
inline constexpr double irregular = 0.0;

/// Most relays that a stream may pass through.
inline constexpr std::size_t max_relays = 8;

/// Writes a channel's entry in the metadata tree (desc/channels/channel[i]); chain its calls.
class RIVULET_API channel_editor {
public:
    channel_editor& label(std::string text);
    channel_editor& unit(std::string text);
    channel_editor& type(std::string text);
    /// Any other element of the channel.
    channel_editor& set(std::string_view key, std::string text);

private:
    friend struct stream_info;
    explicit channel_editor(metadata& node) : node_(&node) {}
    metadata* node_;
};

/// What a stream is. Fill the first group; the outlet fills the second.
struct RIVULET_API stream_info {
    std::string name{};                              ///< 1..256 bytes of UTF-8, no control characters
    std::string type{};                              ///< kind of data ("EEG", "Markers"); may be empty
    std::uint64_t channel_count = 1;                 ///< 1..1 048 576 (blob: exactly 1)
    double nominal_rate_hz = irregular;              ///< finite, >= 0; 0 = irregular
    channel_format format = channel_format::float32; ///< type of every value
    std::string source_id{};                         ///< stable across restarts; empty: a restart is a stranger
    metadata desc{"desc"};                           ///< channel labels, units and whatever else describes the data

    std::string uid{};               ///< new for each outlet: 32 hexadecimal digits
    std::string host{};              ///< host name of the outlet, for people (equal names prove nothing)
    std::string session = "default"; ///< separates labs that share a network
    double created_at = 0.0;         ///< local_clock() of the outlet's host when it was made, seconds

    /// What relays add, which repeat streams of others under uids of their own.
    std::string origin{};              ///< uid of the stream that is repeated, at first hand; empty: not relayed
    std::vector<std::string> relays{}; ///< the relays it has passed, first to last: an id each, [0-9A-Za-z_-]{1,64}

    /// Equal for a stream and for what relays repeat of it: its samples have the same sequence numbers and stamps.
    const std::string& lineage() const noexcept { return origin.empty() ? uid : origin; }

    /// Editor of channel `index` in the metadata tree. @throws error invalid_argument: index >= channel_count.
    channel_editor channel(std::uint64_t index);
    /// Label of a channel, "" where it has none.
    std::string_view label(std::uint64_t index) const noexcept;
    std::string_view unit(std::uint64_t index) const noexcept;

    /// Bytes of one sample; 0 for string and blob.
    std::size_t sample_bytes() const noexcept { return value_bytes(format) * channel_count; }
};

/// Checks all that an outlet needs. @throws error invalid_argument, naming the field, its value and the range.
RIVULET_API void validate(const stream_info& info);

} // namespace rivulet
