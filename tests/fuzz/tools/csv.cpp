#include "fuzz_target.hpp"

#include <common/csv.hpp>
#include <common/file_sources.hpp>

#include <array>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace rivulet;
using namespace rivulet::tools;
using fuzz::require;

namespace {

using records = std::vector<std::vector<std::string>>;

/// All records of a text that comes in pieces; false when it breaks the rules.
bool read(std::string_view text, std::size_t piece, records& out) {
    csv_reader reader(std::size_t{1} << 20);
    std::vector<std::string_view> fields;
    try {
        for (bool finished = false;;) {
            while (reader.next(fields))
                out.emplace_back(fields.begin(), fields.end());
            if (finished)
                return true;
            reader.feed(text.substr(0, piece));
            text.remove_prefix(std::min(piece, text.size()));
            if ((finished = text.empty()))
                reader.finish();
        }
    } catch (const bad_input&) {
        return false;
    }
}

void check_reader(std::string_view text) {
    records whole, pieces, again;
    const bool good = read(text, SIZE_MAX, whole);
    require(read(text, 3, pieces) == good, "whole and in pieces, a text is judged alike");
    require(!good || pieces == whole, "whole and in pieces, a text says the same");
    std::string written;
    for (const auto& record : whole) {
        require(!record.empty(), "a record has fields");
        const bool blank = record.size() == 1 && record[0].empty(); // would be a blank line, which is skipped
        for (std::size_t i = 0; i < record.size(); ++i) {
            written += i == 0 ? "" : ",";
            if (blank)
                written += "\"\"";
            else
                append_csv_field(written, record[i]);
        }
        written += '\n';
    }
    if (!whole.empty() && whole[0][0].starts_with("\xEF\xBB\xBF"))
        return; // a second byte order mark would be taken for the first
    require(read(written, SIZE_MAX, again) && again == whole, "what is written again says the same");
}

/// A file that exists in memory only, as stream-pub reads files.
class memory_file {
public:
    explicit memory_file(std::string_view content) : fd_(::memfd_create("input", MFD_CLOEXEC)) {
        require(fd_ >= 0 && ::write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
                "there is memory for the input");
    }
    ~memory_file() { ::close(fd_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    int fd_;
};

bool check_source(std::string_view text, channel_format format) {
    static const stop_signal signal;
    static const stop_condition never{signal};
    const memory_file file(text);
    std::size_t samples = 0;
    try {
        csv_source source(std::make_unique<input_file>(file.path(), never), format);
        const std::size_t channels = source.labels().size();
        require(channels > 0, "a stream has channels");
        for (batch out; source.next(5, out);) {
            require(out.samples > 0 && out.samples <= 5, "as many samples as asked for");
            require(out.stamps.empty() || out.stamps.size() == out.samples, "stamps for all, or none");
            if (is_fixed_size(format))
                require(out.values.size() == out.samples * channels * value_bytes(format), "values for all channels");
            else
                require(out.texts.size() == out.samples * channels, "texts for all channels");
            samples += out.samples;
        }
    } catch (const bad_input& e) {
        require(std::string_view(e.what()).starts_with(file.path()), "complaints name the file");
    }
    return samples > 0;
}

} // namespace

/// The first byte chooses the format of the values, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::array formats{channel_format::float32, channel_format::float64, channel_format::int8,
                                        channel_format::int16,   channel_format::int32,   channel_format::int64,
                                        channel_format::string,  channel_format::blob};
    if (size == 0)
        return 0;
    const std::string_view text = fuzz::as_text(data + 1, size - 1);
    check_reader(text);
    fuzz::count(check_source(text, formats[data[0] % formats.size()]));
    return 0;
}
