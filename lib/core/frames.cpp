#include <rivulet/frames.hpp>

#include <rivulet/error.hpp>

#include "wire/frame.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace rivulet {
namespace {

constexpr std::size_t length_bytes = 4;

void append(std::vector<std::byte>& out, wire::bytes_view bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_length(std::vector<std::byte>& out, std::size_t length) {
    if (length > std::numeric_limits<std::uint32_t>::max())
        throw error(errc::limit_exceeded, fmt::format("a capture record of {} bytes: the limit is 4 GiB", length));
    for (int shift = 24; shift >= 0; shift -= 8)
        out.push_back(static_cast<std::byte>(length >> shift & 0xFF));
}

void append_record(std::vector<std::byte>& out, wire::bytes_view frame) {
    append_length(out, frame.size());
    append(out, frame);
}

/// The stamps as one run, if that gives each of them bit for bit.
bool as_run(std::span<const double> stamps, double rate_hz, wire::stamp_run& run) {
    run.count = static_cast<std::uint32_t>(stamps.size());
    run.ahead = run.count - 1;
    run.base = stamps.back();
    for (std::uint32_t i = 0; i < run.count; ++i) {
        const double deduced = wire::run_stamp(run, i, rate_hz);
        if (std::memcmp(&deduced, &stamps[i], sizeof deduced) != 0)
            return false;
    }
    return true;
}

} // namespace

void frame_writer::begin(std::vector<std::byte>& out, const stream_info& info, std::uint64_t first_sequence) {
    if (!begun_)
        append(out, std::as_bytes(std::span(capture_magic)));
    begun_ = true;
    channels_ = info.channel_count;
    sample_bytes_ = info.sample_bytes();
    rate_hz_ = info.nominal_rate_hz;
    wire::info_frame frame;
    frame.info = info;
    frame.next_sequence = first_sequence;
    append_record(out, wire::encode_info(frame));
}

/// All of a data record but its payload.
void frame_writer::data_record(std::vector<std::byte>& out, std::uint64_t first_sequence,
                               std::span<const double> stamps, std::size_t payload_bytes) {
    wire::stamp_run run;
    wire::data_header header{.first_sequence = first_sequence,
                             .count = static_cast<std::uint32_t>(stamps.size()),
                             .runs = {},
                             .column = {},
                             .payload_bytes = payload_bytes};
    if (as_run(stamps, rate_hz_, run))
        header.runs = {&run, 1};
    else
        header.column = stamps;
    std::array<std::byte, wire::data_head_capacity(1)> buffer;
    const wire::data_head head = wire::encode_data_head(header, buffer);
    append_length(out, head.head.size() + head.column.size() + head.tail.size() + payload_bytes);
    append(out, head.head);
    append(out, head.column);
    append(out, head.tail);
}

void frame_writer::data(std::vector<std::byte>& out, std::uint64_t first_sequence, std::span<const std::byte> values,
                        std::span<const double> stamps) {
    if (!begun_)
        throw error(errc::closed, "capture: data before begin");
    if (sample_bytes_ == 0 || values.size() != stamps.size() * sample_bytes_)
        throw error(errc::shape_mismatch,
                    fmt::format("capture: {} bytes of values for {} stamps and samples of {} bytes", values.size(),
                                stamps.size(), sample_bytes_));
    if (stamps.empty())
        return;
    data_record(out, first_sequence, stamps, values.size());
    append(out, values);
}

void frame_writer::data(std::vector<std::byte>& out, std::uint64_t first_sequence, std::span<const std::string> values,
                        std::span<const double> stamps) {
    if (!begun_)
        throw error(errc::closed, "capture: data before begin");
    if (sample_bytes_ != 0 || values.size() != stamps.size() * channels_)
        throw error(errc::shape_mismatch, fmt::format("capture: {} texts for {} stamps and {} channels", values.size(),
                                                      stamps.size(), channels_));
    if (stamps.empty())
        return;
    std::size_t bytes = 0;
    for (const std::string& text : values)
        bytes += text.size();
    const std::size_t payload = (values.size() + 1) * sizeof(std::uint32_t) + bytes;
    if (payload > std::numeric_limits<std::uint32_t>::max())
        throw error(errc::limit_exceeded, fmt::format("a capture record of {} bytes: the limit is 4 GiB", payload));
    data_record(out, first_sequence, stamps, payload);
    std::uint32_t offset = 0;
    const auto append_offset = [&] { append(out, std::as_bytes(std::span(&offset, 1))); };
    append_offset();
    for (const std::string& text : values) {
        offset += static_cast<std::uint32_t>(text.size());
        append_offset();
    }
    for (const std::string& text : values)
        append(out, std::as_bytes(std::span(text.data(), text.size())));
}

void frame_writer::clock(std::vector<std::byte>& out, const clock_record& measured) {
    if (!begun_)
        throw error(errc::closed, "capture: a clock record before begin");
    if (!std::isfinite(measured.local_s) || !std::isfinite(measured.offset_s) ||
        !std::isfinite(measured.uncertainty_s) || !std::isfinite(measured.rtt_s))
        throw error(errc::invalid_argument, "capture: a clock record with a number that is not finite");
    append_record(out, wire::encode_clock(measured));
}

void frame_writer::end(std::vector<std::byte>& out, std::uint64_t next_sequence, double at) {
    std::array<std::byte, wire::status_frame_capacity> buffer;
    append_record(out, wire::encode_status({wire::frame_kind::end, next_sequence, at}, buffer));
}

// ---- reader

namespace detail {

class frame_reader_impl {
public:
    explicit frame_reader_impl(std::size_t max_frame) : max_frame_(max_frame) {}

    std::vector<std::byte> bytes;
    std::size_t at = 0;
    stream_info info;
    frame_reader::data_chunk chunk;
    clock_record measured;

    frame_reader::item next() {
        if (!magic_seen_) {
            if (pending() < sizeof capture_magic)
                return frame_reader::item::more;
            if (std::memcmp(bytes.data() + at, capture_magic, sizeof capture_magic) != 0)
                throw error(errc::bad_frame, "this is no capture: it does not begin with RIVULET1");
            at += sizeof capture_magic;
            magic_seen_ = true;
        }
        while (const auto frame = next_frame())
            if (const auto item = decode(*frame); item != frame_reader::item::more)
                return item;
        return frame_reader::item::more;
    }
    std::size_t pending() const noexcept { return bytes.size() - at; }
    void drop_consumed() {
        if (at < bytes.size() / 2)
            return;
        dropped_ += at;
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
        at = 0;
    }

private:
    [[noreturn]] void fail(std::string_view what) const {
        throw error(errc::bad_frame, fmt::format("capture: the record at byte {} is damaged ({})", record_at_, what));
    }
    void check(wire::frame_error problem) const {
        if (problem != wire::frame_error::none)
            fail(wire::to_string(problem));
    }

    std::optional<wire::bytes_view> next_frame() {
        if (pending() < length_bytes)
            return std::nullopt;
        record_at_ = dropped_ + at;
        std::size_t length = 0;
        for (std::size_t i = 0; i < length_bytes; ++i)
            length = length << 8 | static_cast<std::size_t>(bytes[at + i]);
        if (length > max_frame_)
            fail(fmt::format("{} bytes long, the limit is {}", length, max_frame_));
        if (pending() - length_bytes < length)
            return std::nullopt;
        const wire::bytes_view frame(bytes.data() + at + length_bytes, length);
        at += length_bytes + length;
        return frame;
    }

    /// `more` for frames that are passed over.
    frame_reader::item decode(wire::bytes_view frame) {
        const auto kind = wire::peek_kind(frame);
        if (!kind)
            fail("no frame");
        if (*kind == static_cast<std::uint8_t>(wire::frame_kind::info)) {
            wire::info_frame decoded;
            check(wire::decode_info(frame, decoded));
            try {
                validate(decoded.info); // sizes are multiplied below
            } catch (const error& e) {
                fail(e.what());
            }
            info = std::move(decoded.info);
            order_ = decoded.order;
            info_seen_ = true;
            return frame_reader::item::info;
        }
        if (*kind == static_cast<std::uint8_t>(wire::frame_kind::data)) {
            decode_data(frame);
            return frame_reader::item::data;
        }
        if (*kind == wire::clock_record_kind) {
            check(wire::decode_clock(frame, measured));
            return frame_reader::item::clock;
        }
        return *kind == static_cast<std::uint8_t>(wire::frame_kind::end) ? frame_reader::item::end
                                                                         : frame_reader::item::more;
    }

    void decode_data(wire::bytes_view frame) {
        if (!info_seen_)
            fail("data before the stream's info");
        wire::data_view view;
        check(parser_.parse(frame, std::nullopt, view));
        chunk.first_sequence = view.first_sequence;
        chunk.samples = view.count;
        chunk.values.clear();
        chunk.texts.clear();
        // Sizes are compared before anything is allocated: a count alone could ask for gigabytes.
        if (is_fixed_size(info.format))
            take_values(view);
        else
            take_texts(view);
        take_stamps(view);
    }

    void take_values(const wire::data_view& view) {
        const std::size_t value = value_bytes(info.format);
        if (view.payload.size() != view.count * info.sample_bytes())
            fail("its payload has not the size that its sample count asks for");
        chunk.values.resize(view.payload.size());
        if (order_ == std::endian::native)
            std::memcpy(chunk.values.data(), view.payload.data(), view.payload.size());
        else
            wire::copy_swapped(chunk.values.data(), view.payload.data(), view.payload.size() / value, value);
    }

    void take_texts(const wire::data_view& view) {
        wire::text_payload texts;
        check(wire::text_payload::parse(view.payload, view.count * info.channel_count, order_, texts));
        chunk.texts.reserve(static_cast<std::size_t>(texts.size()));
        for (std::uint64_t i = 0; i < texts.size(); ++i)
            chunk.texts.emplace_back(reinterpret_cast<const char*>(texts[i].data()), texts[i].size());
    }

    void take_stamps(const wire::data_view& view) {
        chunk.stamps.resize(view.count);
        if (view.runs.empty()) {
            if (order_ == std::endian::native)
                std::memcpy(chunk.stamps.data(), view.column.data(), view.column.size());
            else
                wire::copy_swapped(chunk.stamps.data(), view.column.data(), view.count, sizeof(double));
            return;
        }
        double* to = chunk.stamps.data();
        for (const wire::stamp_run& run : view.runs) {
            wire::expand_run(run, info.nominal_rate_hz, to);
            to += run.count;
        }
    }

    std::size_t max_frame_;
    std::size_t dropped_ = 0; ///< bytes of the capture before `bytes`
    std::size_t record_at_ = 0;
    bool magic_seen_ = false;
    bool info_seen_ = false;
    std::endian order_ = std::endian::native;
    wire::data_parser parser_;
};

} // namespace detail

frame_reader::frame_reader(std::size_t max_frame) : impl_(std::make_unique<detail::frame_reader_impl>(max_frame)) {}
frame_reader::~frame_reader() = default;
frame_reader::frame_reader(frame_reader&&) noexcept = default;
frame_reader& frame_reader::operator=(frame_reader&&) noexcept = default;

void frame_reader::feed(std::span<const std::byte> bytes) {
    impl_->drop_consumed();
    append(impl_->bytes, bytes);
}
frame_reader::item frame_reader::next() { return impl_->next(); }
std::size_t frame_reader::pending_bytes() const noexcept { return impl_->pending(); }
const stream_info& frame_reader::info() const noexcept { return impl_->info; }
frame_reader::data_chunk& frame_reader::chunk() noexcept { return impl_->chunk; }
const clock_record& frame_reader::clock() const noexcept { return impl_->measured; }

} // namespace rivulet
