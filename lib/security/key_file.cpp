#include "security/key_file.hpp"

#include "platform/text.hpp"
#include "platform/unique_fd.hpp"

#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

namespace rivulet::security {
namespace {

constexpr std::size_t max_file_bytes = 1u << 20;

using platform::printable;

[[noreturn]] void refuse(std::string_view what, const std::string& path, const std::string& why) {
    throw error(errc::bad_config, fmt::format("{}: key file {}: {}", what, printable(path, 300), why));
}

/// Takes what it finds with it: a file's text holds secrets.
struct file_text {
    std::vector<char> bytes = std::vector<char>(max_file_bytes + 1);
    std::size_t size = 0;
    file_text() = default;
    file_text(const file_text&) = delete;
    file_text& operator=(const file_text&) = delete;
    ~file_text() { ::explicit_bzero(bytes.data(), size); }
};

void read_file(std::string_view what, const std::string& path, bool secret, file_text& out) {
    // Not blocking, as a FIFO would.
    const platform::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0)
        refuse(what, path, std::string("cannot open it: ") + std::strerror(errno));
    if (!S_ISREG(about.st_mode))
        refuse(what, path, "it is no regular file");
    if (secret && (about.st_mode & 077) != 0)
        refuse(what, path,
               fmt::format("its permissions are {:04o}, so others than its owner can get at the secret; run: chmod 600 "
                           "{} (and make a new key with stream-keygen if somebody may have read it)",
                           about.st_mode & 07777, printable(path, 300)));
    while (out.size < out.bytes.size()) {
        const ssize_t got = ::read(file.get(), out.bytes.data() + out.size, out.bytes.size() - out.size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            refuse(what, path, std::string("cannot read it: ") + std::strerror(errno));
        if (got == 0)
            return;
        out.size += static_cast<std::size_t>(got);
    }
    refuse(what, path, "it is larger than 1 MiB, so hardly a key file");
}

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view blank = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    return line.substr(0, line.find_first_of(blank)); // a comment may follow
}

/// What the text is, where it is not what was asked for; never the text itself, which may be a secret.
std::string_view kind_of(std::string_view text) {
    if (text.starts_with(secret_prefix))
        return "a secret key, which others must not be given: name the .pub file";
    if (text.starts_with(public_prefix))
        return "a public key";
    if (text.starts_with(session_prefix))
        return "a session key";
    return "no key";
}

key_bytes parse(std::string_view what, std::string_view text, std::string_view prefix) {
    if (!text.starts_with(prefix))
        throw error(errc::bad_config, fmt::format("{}: this is {}; needed is one that begins with {} (stream-keygen "
                                                  "makes them)",
                                                  what, kind_of(text), prefix));
    const auto key = decode_key(text.substr(prefix.size()));
    if (!key)
        throw error(errc::bad_config,
                    fmt::format("{}: behind {} must come 40 characters of Z85; it was cut or changed", what, prefix));
    return *key;
}

std::vector<key_bytes> parse_file(std::string_view what, const std::string& path, std::string_view prefix) {
    file_text text;
    read_file(what, path, prefix != public_prefix, text);
    std::vector<key_bytes> keys;
    std::string_view rest(text.bytes.data(), text.size);
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trimmed(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!line.empty() && line.front() != '#')
            keys.push_back(
                parse(fmt::format("{}: key file {}, line {}", what, printable(path, 300), number), line, prefix));
    }
    return keys;
}

} // namespace

secret_bytes read_secret(std::string_view what, const std::string& path, std::string_view prefix) {
    if (path.starts_with(secret_prefix) || path.starts_with(session_prefix)) // not repeated: it may get into a log
        throw error(errc::bad_config, fmt::format("{}: name a file, not the secret itself, which others could see in "
                                                  "settings, command lines and environments",
                                                  what));
    const auto keys = parse_file(what, path, prefix);
    if (keys.size() != 1)
        refuse(what, path, fmt::format("it has {} keys, but must have exactly one", keys.size()));
    return secret_bytes(keys.front());
}

std::vector<key_bytes> read_public_keys(std::string_view what, const std::string& key_or_path) {
    if (key_or_path.starts_with(public_prefix) || key_or_path.starts_with(secret_prefix) ||
        key_or_path.starts_with(session_prefix))
        return {parse(what, key_or_path, public_prefix)};
    return parse_file(what, key_or_path, public_prefix);
}

key_bytes parse_public(std::string_view what, std::string_view text) {
    return parse(what, trimmed(text), public_prefix);
}

} // namespace rivulet::security
