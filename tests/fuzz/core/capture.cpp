#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <rivulet/error.hpp>
#include <rivulet/frames.hpp>

#include <cstring>
#include <vector>

using namespace rivulet;
using fuzz::require;

namespace {

/// What a capture says, for comparison.
struct reading {
    std::vector<frame_reader::item> items{};
    std::vector<std::byte> values{};
    std::vector<std::string> texts{};
    std::uint64_t stamps = 0;
    bool damaged = false;
};

void check_chunk(const stream_info& info, const frame_reader::data_chunk& chunk) {
    require(chunk.samples > 0 && chunk.stamps.size() == chunk.samples, "every sample has a stamp");
    require(chunk.values.size() == chunk.samples * info.sample_bytes(), "numbers are those of the samples");
    require(is_fixed_size(info.format) || chunk.texts.size() == chunk.samples * info.channel_count,
            "texts are those of the samples");
}

/// Reads it in pieces of at most `piece` bytes. @param again is written what was read, where that is possible.
reading read(std::span<const std::byte> bytes, std::size_t piece, std::vector<std::byte>* again = nullptr) {
    reading out;
    frame_reader reader(std::size_t{1} << 20);
    frame_writer writer;
    try {
        for (;;) {
            const auto item = reader.next();
            if (item == frame_reader::item::more) {
                if (bytes.empty())
                    break;
                reader.feed(bytes.first(std::min(piece, bytes.size())));
                bytes = bytes.subspan(std::min(piece, bytes.size()));
                continue;
            }
            out.items.push_back(item);
            if (item == frame_reader::item::info && again)
                writer.begin(*again, reader.info());
            if (item == frame_reader::item::clock && again && out.items.front() == frame_reader::item::info)
                writer.clock(*again, reader.clock());
            if (item != frame_reader::item::data)
                continue;
            const auto& chunk = reader.chunk();
            check_chunk(reader.info(), chunk);
            out.values.insert(out.values.end(), chunk.values.begin(), chunk.values.end());
            out.texts.insert(out.texts.end(), chunk.texts.begin(), chunk.texts.end());
            out.stamps += chunk.samples;
            if (again)
                is_fixed_size(reader.info().format)
                    ? writer.data(*again, chunk.first_sequence, chunk.values, chunk.stamps)
                    : writer.data(*again, chunk.first_sequence, chunk.texts, chunk.stamps);
        }
    } catch (const error& e) {
        require(e.code() == errc::bad_frame, "a damaged capture is called that");
        out.damaged = true;
    }
    return out;
}

// --- mutations that keep records records ----------------------------------------------------------------------------

using fuzz::msgpack_value;

std::vector<std::string> split(const std::uint8_t* data, std::size_t size) {
    std::vector<std::string> records;
    for (std::size_t at = sizeof capture_magic; at < size && size - at >= 4;) {
        std::size_t length = 0;
        for (int i = 0; i < 4; ++i)
            length = length << 8 | data[at++];
        length = std::min(length, size - at);
        records.emplace_back(reinterpret_cast<const char*>(data + at), length);
        at += length;
    }
    return records;
}

/// A data record's payload as long as its sample count asks for: else none gets far.
void repair_payload(msgpack_value& record, std::size_t sample_bytes) {
    auto& items = record.items;
    if (items.size() == 5 && items[0].number == 1 && items[4].what == msgpack_value::kind::bin && sample_bytes != 0)
        items[4].bytes.resize(std::min<std::uint64_t>(items[2].number, 64) * sample_bytes);
}

std::size_t sample_bytes_of(const msgpack_value& info) {
    std::size_t channels = 0, width = 0;
    if (info.items.size() == 5)
        for (std::size_t i = 0; i + 1 < info.items[3].items.size(); i += 2) {
            const auto& key = info.items[3].items[i].bytes;
            const auto number = static_cast<std::size_t>(info.items[3].items[i + 1].number);
            if (key == "channels")
                channels = std::min<std::size_t>(number, 64);
            if (key == "format" && number < 8)
                width = std::array<std::size_t, 8>{0, 4, 8, 0, 4, 2, 1, 8}[number];
        }
    return channels * width;
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    fuzz::random_source random(seed);
    auto records = split(data, size);
    if (records.empty() || random() % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const auto bytes_of = [](const std::string& text) { return reinterpret_cast<const std::uint8_t*>(text.data()); };
    const std::size_t which = random() % records.size();
    msgpack_value info, record;
    std::size_t at = 0;
    switch (random() % 8) {
    case 0: records.insert(records.begin() + static_cast<std::ptrdiff_t>(which), std::string(records[which])); break;
    case 1: std::swap(records[which], records[random() % records.size()]); break;
    case 2: records.erase(records.begin() + static_cast<std::ptrdiff_t>(which)); break;
    default:
        if (fuzz::read_msgpack(bytes_of(records[which]), records[which].size(), at, record)) {
            fuzz::mutate_tree(record, random);
            at = 0;
            if (random() % 4 != 0 && fuzz::read_msgpack(bytes_of(records[0]), records[0].size(), at, info))
                repair_payload(record, sample_bytes_of(info));
            records[which].clear();
            fuzz::write_msgpack(record, random, records[which]);
        }
    }
    std::string out(capture_magic, sizeof capture_magic);
    for (const std::string& one : records) {
        for (int shift = 24; shift >= 0; shift -= 8)
            out += static_cast<char>(one.size() >> shift & 0xff);
        out += one;
    }
    if (out.size() > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, out.data(), out.size());
    return out.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = fuzz::as_view(data, size);
    std::vector<std::byte> again;
    const reading whole = read(bytes, SIZE_MAX, &again);
    fuzz::count(whole.stamps > 0);
    const reading pieces = read(bytes, 7);
    require(pieces.items == whole.items && pieces.values == whole.values && pieces.texts == whole.texts &&
                pieces.damaged == whole.damaged,
            "whole and in pieces, a capture says the same");
    const reading second = read(again, SIZE_MAX);
    require(!second.damaged && second.values == whole.values && second.texts == whole.texts &&
                second.stamps == whole.stamps,
            "what is written again says the same");
    return 0;
}
