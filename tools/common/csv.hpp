#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet::tools {

/// Input that breaks its format's rules; what() names the place.
class bad_input : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Appends one RFC 4180 field: quoted when it has to be. Records are ended by '\n' by whoever writes them.
void append_csv_field(std::string& out, std::string_view text);

/// Reads RFC 4180 records from text that comes in pieces of any size. Takes "\n" and "\r\n", skips blank lines and a
/// leading byte order mark.
class csv_reader {
public:
    /// Records longer than this are refused, bytes.
    explicit csv_reader(std::size_t max_record = 64u << 20) : max_record_(max_record) {}

    void feed(std::string_view text);
    /// No more will come: the last record needs no line end.
    void finish() { finished_ = true; }

    /// The next complete record, its fields valid until the next call; false when more text is needed (or, after
    /// finish, when there is none). @throws bad_input "line 7: ...".
    bool next(std::vector<std::string_view>& fields);
    /// The line on which the record last returned began, from 1.
    std::uint64_t line() const noexcept { return line_; }

private:
    enum class place : std::uint8_t { field_start, plain, quoted, after_quote };

    bool find_end();
    [[noreturn]] void fail(const std::string& what) const;
    std::size_t take_quoted(std::size_t at, std::vector<std::string_view>& fields);

    std::string text_;
    std::size_t begin_ = 0;   ///< of the record to come
    std::size_t scanned_ = 0; ///< text before this was searched for the record's end
    std::size_t end_ = 0;     ///< of the record found, without its line end
    std::size_t after_ = 0;   ///< of its line end
    std::size_t max_record_;
    std::uint64_t line_ = 0;
    std::uint64_t next_line_ = 1;
    std::uint64_t lines_in_record_ = 0;
    place place_ = place::field_start; ///< where scanned_ lies
    bool started_ = false;
    bool finished_ = false;
};

} // namespace rivulet::tools
