#pragma once

#include "common/input_file.hpp"
#include "common/sample_source.hpp"

#include <rivulet/frames.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rivulet::tools {

/// CSV with a header. A first column named `stamp` gives the stamps, a second one named `sequence` beside it is passed
/// over, all others are channels. Strings stand as they are, blobs in base64.
class csv_source final : public sample_source {
public:
    /// Reads the header. @throws bad_input, std::system_error.
    csv_source(std::unique_ptr<input_file> input, channel_format format);
    bool next(std::size_t max_samples, batch& out) override;

    const std::vector<std::string>& labels() const noexcept { return labels_; }

private:
    bool read_record();
    void read_header();
    void append(batch& out);
    template<class T>
    void append_values(batch& out, std::size_t first);
    [[noreturn]] void fail(std::size_t column, const std::string& wanted) const;

    std::unique_ptr<input_file> input_;
    channel_format format_;
    csv_reader reader_;
    std::string piece_;
    std::vector<std::string_view> fields_;
    std::vector<std::string> labels_;
    bool has_stamps_ = false;
    std::size_t first_channel_ = 0;
    bool at_end_ = false;
};

/// Multiplexed values as they lie in memory, in this host's byte order.
class raw_source final : public sample_source {
public:
    raw_source(std::unique_ptr<input_file> input, std::size_t sample_bytes)
        : input_(std::move(input)), sample_bytes_(sample_bytes) {}
    bool next(std::size_t max_samples, batch& out) override;

private:
    std::unique_ptr<input_file> input_;
    std::size_t sample_bytes_;
    std::string pending_;
    std::size_t taken_ = 0; ///< bytes of pending_ that were given out
};

/// Each line a string: without its line end, everything else as it is.
class lines_source final : public sample_source {
public:
    explicit lines_source(std::unique_ptr<input_file> input) : input_(std::move(input)) {}
    bool next(std::size_t max_samples, batch& out) override;

private:
    std::unique_ptr<input_file> input_;
    std::string pending_;
    std::size_t taken_ = 0;
    std::size_t searched_ = 0;
    bool at_end_ = false;
};

/// A capture written by stream-sub: the same chunks again. A capture that ends inside a record (its writer crashed) is
/// read as far as it goes, with a warning.
class frames_source final : public sample_source {
public:
    /// Reads up to the stream's info. @throws bad_input, rivulet::error bad_frame, std::system_error.
    explicit frames_source(std::unique_ptr<input_file> input);
    bool next(std::size_t max_samples, batch& out) override;

    const stream_info& info() const noexcept { return info_; }

private:
    frame_reader::item advance();

    std::unique_ptr<input_file> input_;
    frame_reader reader_;
    std::string piece_;
    stream_info info_;
    std::optional<std::uint64_t> expected_;
};

} // namespace rivulet::tools
