#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a value of a key may be: how it is read, checked, written and described. Pure text, no I/O.
namespace rivulet::settings {

/// A value as it was found. TOML gives it a type; an environment variable is text that any rule reads its own way.
struct raw_value {
    /// monostate: table, date, or an array of other things than text.
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>> value;
    bool from_environment = false;
    std::string kind; ///< "an integer", "a table", for messages

    std::string shown() const; ///< as it may stand in a message
};

/// Each rule has: type; read() which says what is wrong in `why`; allows(); allowed() in words; literal() as TOML.
struct text_rule {
    using type = std::string;
    std::size_t min_bytes;
    std::size_t max_bytes;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(const type& value) const;
    std::string allowed() const;
    std::string literal(const type& value) const;
};

/// true or false.
struct switch_rule {
    using type = bool;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(type) const { return true; }
    std::string allowed() const { return "true, false"; }
    std::string literal(type value) const { return value ? "true" : "false"; }
};

/// An array of texts; in a variable, they are separated by commas.
struct list_rule {
    using type = std::vector<std::string>;
    std::size_t most;
    text_rule item;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(const type& value) const;
    std::string allowed() const;
    std::string literal(const type& value) const;
};

/// A multicast address of one family.
struct group_rule {
    using type = std::string;
    int family;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(const type& value) const;
    std::string allowed() const;
    std::string literal(const type& value) const;
};

struct choice_rule {
    using type = std::string;
    std::vector<std::string_view> choices;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(const type& value) const;
    std::string allowed() const;
    std::string literal(const type& value) const;
};

struct count_rule {
    using type = std::int64_t;
    std::int64_t min;
    std::int64_t max;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(type value) const { return value >= min && value <= max; }
    std::string allowed() const;
    std::string literal(type value) const;
};

/// A count of bytes; differs in how it is shown.
struct bytes_rule : count_rule {
    std::string allowed() const;
    std::string literal(type value) const;
};

/// Permissions of a file as chmod writes them, "0660": text, since a number would be read as decimal.
struct mode_rule {
    using type = std::uint32_t;

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(type value) const { return value <= 0777; }
    std::string allowed() const;
    std::string literal(type value) const;
};

/// Text with a unit ("200ms", "1.5s", "2min", "1h"), whole milliseconds; 0 needs no unit.
struct duration_rule {
    using type = std::chrono::milliseconds;
    type min;
    type max;
    std::string_view zero{}; ///< what 0 means, where it is allowed besides min..max

    std::optional<type> read(const raw_value& raw, std::string& why) const;
    bool allows(type value) const { return (value >= min && value <= max) || (!zero.empty() && value.count() == 0); }
    std::string allowed() const;
    std::string literal(type value) const;
};

} // namespace rivulet::settings
