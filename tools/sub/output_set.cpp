#include "sub/output_set.hpp"

#include "common/output_path.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace rivulet::tools {

output_file* output_set::open(const stream_info& info, const void* owner) {
    if (options_.sink.format == output_format::none)
        return nullptr;
    const std::string path = expand_path(options_.output, info);
    const auto found = files_.find(path);
    if (found == files_.end())
        return files_.emplace(path, owned_file{std::make_unique<output_file>(path, stop_), owner})
            .first->second.file.get();
    if (found->second.owner != owner && options_.sink.format != output_format::jsonl)
        throw error(errc::invalid_argument,
                    fmt::format("two streams would write to '{}': add {{uid}} to --output", path));
    return found->second.file.get();
}

void output_set::flush() {
    for (auto& [path, owned] : files_)
        owned.file->flush();
}

void output_set::flush_what_can_be() noexcept {
    for (auto& [path, owned] : files_)
        try {
            owned.file->flush();
        } catch (...) { // it is being reported already, or one error too many
        }
}

bool output_set::reader_gone() const {
    return std::ranges::any_of(files_, [](const auto& item) { return item.second.file->reader_gone(); });
}

int output_set::watched_fd() const { return options_.samples_on_stdout() ? STDOUT_FILENO : -1; }

} // namespace rivulet::tools
