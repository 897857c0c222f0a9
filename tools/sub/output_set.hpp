#pragma once

#include "common/output_file.hpp"
#include "sub/options.hpp"

#include <rivulet/stream_info.hpp>

#include <map>
#include <memory>
#include <string>

namespace rivulet::tools {

/// The files that samples go to, found by the path that --output gives a stream.
class output_set {
public:
    output_set(const sub_options& options, const stop_signal& stop) : options_(options), stop_(stop) {}

    /// The file of a stream; nullptr where none is written. A file belongs to one stream (the same `owner` gets it
    /// again), unless the format lets several share it. @throws rivulet::error, std::system_error naming the path.
    output_file* open(const stream_info& info, const void* owner);

    /// @throws as output_file::flush.
    void flush();
    /// After an error: what the other files still lack.
    void flush_what_can_be() noexcept;
    /// A pipe among them has lost its reader.
    bool reader_gone() const;
    /// stdout's descriptor where samples go there, else -1: for poll, which reports a lost reader.
    int watched_fd() const;

private:
    struct owned_file {
        std::unique_ptr<output_file> file;
        const void* owner;
    };
    const sub_options& options_;
    const stop_signal& stop_;
    std::map<std::string, owned_file> files_;
};

} // namespace rivulet::tools
