#pragma once

#include <rivulet/channel_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rivulet::tools {

/// Consecutive samples on their way into an outlet. Values are multiplexed: [samples x channels].
struct batch {
    std::size_t samples = 0;
    std::vector<std::byte> values;  ///< fixed-size formats, in this host's byte order
    std::vector<std::string> texts; ///< strings and blobs
    std::vector<double> stamps;     ///< one a sample, or empty: stamped when pushed

    void clear() {
        samples = 0;
        values.clear();
        texts.clear();
        stamps.clear();
    }
    /// Keeps the first `count` samples.
    void truncate(std::size_t count) {
        if (count >= samples)
            return;
        values.resize(values.size() / samples * count);
        texts.resize(texts.size() / samples * count);
        if (!stamps.empty())
            stamps.resize(count);
        samples = count;
    }
};

/// Calls f with a value of the C++ type of a fixed-size format.
template<class F>
decltype(auto) with_value_type(channel_format format, F&& f) {
    switch (format) {
    case channel_format::float32: return std::forward<F>(f)(float());
    case channel_format::float64: return std::forward<F>(f)(double());
    case channel_format::int8: return std::forward<F>(f)(std::int8_t());
    case channel_format::int16: return std::forward<F>(f)(std::int16_t());
    case channel_format::int32: return std::forward<F>(f)(std::int32_t());
    default: return std::forward<F>(f)(std::int64_t());
    }
}

} // namespace rivulet::tools
