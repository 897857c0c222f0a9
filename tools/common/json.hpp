#pragma once

#include "common/numbers.hpp"

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::tools {

/// Appends `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends a number as JSON: NaN, which JSON lacks, becomes null; infinities become 1e999, which reads back as such.
template<class T>
void append_json_number(std::string& out, T value) {
    if constexpr (std::floating_point<T>) {
        if (std::isnan(value)) {
            out += "null";
            return;
        }
        if (std::isinf(value)) {
            out += value < 0 ? "-1e999" : "1e999";
            return;
        }
    }
    append_number(out, value);
}

/// Builds one JSON text on one line: objects and arrays are opened and closed, commas come by themselves.
/// Inside objects every value (or opened object or array) has a key.
class json_writer {
public:
    json_writer& begin_object();
    json_writer& begin_object(std::string_view key);
    json_writer& end_object();
    json_writer& begin_array(std::string_view key);
    json_writer& end_array();

    json_writer& field(std::string_view key, std::string_view text);
    json_writer& field(std::string_view key, const char* text) { return field(key, std::string_view(text)); }
    json_writer& field(std::string_view key, bool value);
    template<class T>
    requires(std::integral<T> || std::floating_point<T>) json_writer& field(std::string_view key, T value) {
        name(key);
        append_json_number(text_, value);
        return *this;
    }
    json_writer& null(std::string_view key);
    /// An element of an array.
    json_writer& element(std::string_view text);
    template<class T>
    requires(std::integral<T> || std::floating_point<T>) json_writer& element(T value) {
        separate();
        append_json_number(text_, value);
        return *this;
    }

    const std::string& text() const noexcept { return text_; }

private:
    void separate();
    void name(std::string_view key);

    std::string text_;
    bool first_ = true;
};

} // namespace rivulet::tools
