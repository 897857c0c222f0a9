#include "common/csv.hpp"

#include <fmt/format.h>

namespace rivulet::tools {

void append_csv_field(std::string& out, std::string_view text) {
    using namespace std::string_view_literals;
    const bool spaced = !text.empty() && (text.front() == ' ' || text.back() == ' ');
    if (!spaced && text.find_first_of("\",\r\n\0"sv) == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"')
            out += '"';
        out += c;
    }
    out += '"';
}

void csv_reader::fail(const std::string& what) const { throw bad_input(fmt::format("line {}: {}", next_line_, what)); }

void csv_reader::feed(std::string_view text) {
    if (begin_ > 0 && begin_ >= text_.size() / 2) {
        text_.erase(0, begin_);
        scanned_ -= begin_;
        begin_ = 0;
    }
    text_ += text;
}

/// Sets end_ and after_ of the record at begin_.
bool csv_reader::find_end() {
    for (; scanned_ < text_.size(); ++scanned_) {
        const char c = text_[scanned_];
        if (c == '\n')
            ++lines_in_record_;
        if (place_ == place::quoted) {
            if (c == '"')
                place_ = place::after_quote;
        } else if (c == '"' && place_ != place::plain) {
            place_ = place::quoted; // opened, or doubled
        } else if (c == '\n') {
            place_ = place::field_start;
            after_ = ++scanned_;
            end_ = after_ - 1;
            if (end_ > begin_ && text_[end_ - 1] == '\r')
                --end_;
            return true;
        } else {
            place_ = c == ',' ? place::field_start : place::plain;
        }
    }
    if (text_.size() - begin_ > max_record_)
        fail(fmt::format("a record of more than {} bytes (a quote that is never closed?)", max_record_));
    if (!finished_ || begin_ == text_.size())
        return false;
    if (place_ == place::quoted)
        fail("a quote is opened and never closed");
    after_ = end_ = text_.size();
    ++lines_in_record_;
    return true;
}

/// Unescapes in place (the result is never longer); returns the position after the closing quote.
std::size_t csv_reader::take_quoted(std::size_t at, std::vector<std::string_view>& fields) {
    const std::size_t first = at + 1;
    std::size_t to = first;
    for (std::size_t from = first;; ++from) {
        if (text_[from] == '"') {
            if (from + 1 < end_ && text_[from + 1] == '"') {
                ++from;
            } else {
                fields.emplace_back(text_.data() + first, to - first);
                if (from + 1 < end_ && text_[from + 1] != ',')
                    fail("text after a closing quote");
                return from + 1;
            }
        }
        text_[to++] = text_[from];
    }
}

bool csv_reader::next(std::vector<std::string_view>& fields) {
    fields.clear();
    if (!started_) {
        constexpr std::string_view mark = "\xEF\xBB\xBF";
        if (text_.size() < mark.size() && !finished_ && mark.starts_with(text_))
            return false;
        started_ = true;
        if (text_.starts_with(mark))
            begin_ = scanned_ = mark.size();
    }
    do {
        if (!find_end())
            return false;
        line_ = next_line_;
        std::size_t at = begin_;
        const bool blank = end_ == begin_;
        while (!blank) {
            if (at < end_ && text_[at] == '"') {
                at = take_quoted(at, fields);
            } else {
                const std::string_view rest(text_.data() + at, end_ - at);
                const std::string_view field = rest.substr(0, rest.find(','));
                if (field.find('"') != std::string_view::npos)
                    fail("a quote inside a field that does not begin with one");
                fields.push_back(field);
                at += field.size();
            }
            if (at >= end_)
                break;
            ++at; // the comma; a field follows it, if only an empty one
        }
        begin_ = scanned_ = after_;
        next_line_ += lines_in_record_;
        lines_in_record_ = 0;
    } while (fields.empty());
    return true;
}

} // namespace rivulet::tools
