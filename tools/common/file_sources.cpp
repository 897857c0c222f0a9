#include "common/file_sources.hpp"

#include "common/base64.hpp"
#include "common/log.hpp"
#include "common/numbers.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace rivulet::tools {
namespace {

std::span<const std::byte> as_byte_span(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

} // namespace

// ---- CSV

csv_source::csv_source(std::unique_ptr<input_file> input, channel_format format)
    : input_(std::move(input)), format_(format) {
    read_header();
}

/// Reads on until there is a whole record; false at the end, or when a stop was asked for.
bool csv_source::read_record() {
    for (;;) {
        try {
            if (reader_.next(fields_))
                return true;
        } catch (const bad_input& e) {
            throw bad_input(input_->path() + ", " + e.what());
        }
        if (at_end_)
            return false;
        piece_.clear();
        at_end_ = input_->read_some(piece_) == 0;
        if (at_end_ && input_->stopped())
            return false; // a record that was cut by the stop is no bad record
        at_end_ ? reader_.finish() : reader_.feed(piece_);
    }
}

void csv_source::read_header() {
    if (!read_record())
        throw bad_input(input_->path() + " is empty: a CSV begins with a header, stamp,<label>,<label>,...");
    if (std::ranges::all_of(fields_, [](auto field) { return parse_number<double>(field).has_value(); }))
        throw bad_input(fmt::format("{}, line {}: only numbers where the header should be: a CSV begins with "
                                    "stamp,<label>,<label>,...",
                                    input_->path(), reader_.line()));
    has_stamps_ = fields_[0] == "stamp";
    first_channel_ = has_stamps_ ? (fields_.size() > 1 && fields_[1] == "sequence" ? 2 : 1) : 0;
    labels_.assign(fields_.begin() + static_cast<std::ptrdiff_t>(first_channel_), fields_.end());
    if (labels_.empty())
        throw bad_input(fmt::format("{}, line {}: the header names no channels", input_->path(), reader_.line()));
}

void csv_source::fail(std::size_t column, const std::string& wanted) const {
    const std::string name = column < first_channel_ ? "stamp" : labels_[column - first_channel_];
    throw bad_input(fmt::format("{}, line {}, column '{}': '{}' is no {}", input_->path(), reader_.line(), name,
                                fields_[column].substr(0, 40), wanted));
}

template<class T>
void csv_source::append_values(batch& out, std::size_t first) {
    const std::size_t before = out.values.size();
    out.values.resize(before + labels_.size() * sizeof(T));
    T* values = reinterpret_cast<T*>(out.values.data() + before);
    for (std::size_t c = first; c < fields_.size(); ++c) {
        const auto value = parse_number<T>(fields_[c]);
        if (!value)
            fail(c, fmt::format("{} value", to_string(format_)));
        *values++ = *value;
    }
}

void csv_source::append(batch& out) {
    if (fields_.size() != first_channel_ + labels_.size())
        throw bad_input(fmt::format("{}, line {}: {} fields where the header has {}", input_->path(), reader_.line(),
                                    fields_.size(), first_channel_ + labels_.size()));
    if (has_stamps_) {
        const auto stamp = parse_number<double>(fields_[0]);
        if (!stamp || !std::isfinite(*stamp))
            fail(0, "stamp in seconds");
        out.stamps.push_back(*stamp);
    }
    if (is_fixed_size(format_)) {
        with_value_type(format_, [&]<class T>(T) { append_values<T>(out, first_channel_); });
    } else {
        for (std::size_t c = first_channel_; c < fields_.size(); ++c) {
            if (format_ == channel_format::string) {
                out.texts.emplace_back(fields_[c]);
            } else {
                auto bytes = decode_base64(fields_[c]);
                if (!bytes)
                    fail(c, "base64");
                out.texts.push_back(std::move(*bytes));
            }
        }
    }
    ++out.samples;
}

bool csv_source::next(std::size_t max_samples, batch& out) {
    out.clear();
    if (!read_record())
        return false;
    append(out);
    try {
        while (out.samples < max_samples && reader_.next(fields_))
            append(out);
    } catch (const bad_input& e) {
        const std::string_view what = e.what();
        throw what.starts_with(input_->path()) ? e : bad_input(input_->path() + ", " + e.what());
    }
    return true;
}

// ---- raw

bool raw_source::next(std::size_t max_samples, batch& out) {
    out.clear();
    pending_.erase(0, taken_);
    taken_ = 0;
    while (pending_.size() < sample_bytes_) {
        if (input_->read_some(pending_, std::max<std::size_t>(sample_bytes_, 1 << 18)) != 0)
            continue;
        if (!pending_.empty() && !input_->stopped())
            log_warn("partial_sample", "{} ends with {} bytes that make no whole sample of {} bytes; they are left out",
                     input_->path(), pending_.size(), sample_bytes_);
        return false;
    }
    out.samples = std::min(max_samples, pending_.size() / sample_bytes_);
    taken_ = out.samples * sample_bytes_;
    out.values.resize(taken_);
    std::memcpy(out.values.data(), pending_.data(), taken_);
    return true;
}

// ---- lines

bool lines_source::next(std::size_t max_samples, batch& out) {
    out.clear();
    for (;;) {
        while (out.samples < max_samples) {
            const auto end = pending_.find('\n', searched_);
            if (end == std::string::npos) {
                searched_ = pending_.size();
                break;
            }
            out.texts.emplace_back(pending_, taken_, end - taken_);
            ++out.samples;
            taken_ = searched_ = end + 1;
        }
        if (out.samples > 0)
            return true;
        pending_.erase(0, taken_);
        searched_ -= taken_;
        taken_ = 0;
        if (at_end_)
            return false;
        at_end_ = input_->read_some(pending_) == 0;
        if (at_end_ && input_->stopped())
            return false;
        if (at_end_ && !pending_.empty())
            pending_ += '\n';
    }
}

// ---- frames

frames_source::frames_source(std::unique_ptr<input_file> input) : input_(std::move(input)) {
    if (advance() != frame_reader::item::info)
        throw bad_input(input_->path() + " holds no stream info: it is no capture, or an empty one");
    info_ = reader_.info();
}

/// The next item; `more` at the end of the file, or when a stop was asked for.
frame_reader::item frames_source::advance() {
    for (;;) {
        const auto item = reader_.next();
        if (item != frame_reader::item::more)
            return item;
        piece_.clear();
        if (input_->read_some(piece_) == 0)
            return item;
        reader_.feed(as_byte_span(piece_));
    }
}

bool frames_source::next(std::size_t, batch& out) {
    for (;;) {
        switch (advance()) {
        case frame_reader::item::info:
            if (reader_.info().channel_count != info_.channel_count || reader_.info().format != info_.format)
                throw bad_input(input_->path() + ": the stream changes its shape within the capture");
            expected_.reset();
            break;
        case frame_reader::item::data: {
            auto& chunk = reader_.chunk();
            if (expected_ && chunk.first_sequence > *expected_)
                log_warn("gap_closed", "{}: {} samples are missing before {}; the replay closes the gap",
                         input_->path(), chunk.first_sequence - *expected_, chunk.first_sequence);
            expected_ = chunk.first_sequence + chunk.samples;
            out.samples = chunk.samples;
            std::swap(out.values, chunk.values);
            std::swap(out.texts, chunk.texts);
            std::swap(out.stamps, chunk.stamps);
            return true;
        }
        case frame_reader::item::end:
        case frame_reader::item::clock: break;
        case frame_reader::item::more:
            if (reader_.pending_bytes() > 0 && !input_->stopped())
                log_warn("capture_cut", "{} ends inside a record ({} bytes of it): its writer did not end properly",
                         input_->path(), reader_.pending_bytes());
            return false;
        }
    }
}

} // namespace rivulet::tools
