#include "keygen/key_writer.hpp"

#include "common/exit_code.hpp"
#include "common/json.hpp"

#include <rivulet/error.hpp>
#include <rivulet/keys.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace rivulet::tools {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw error(errc::system, fmt::format("{}: {}", path, what));
}

/// A file that is removed again unless it is kept.
class new_file {
public:
    new_file(std::string path, mode_t mode) : path_(std::move(path)) {
        fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd_ < 0 && errno == EEXIST)
            fail(path_, "it is there already, and somebody may rely on it; choose another name, or remove it");
        if (fd_ < 0 || ::fchmod(fd_, mode) != 0) // a umask may have taken the owner's own permission away
            fail_and_remove("cannot make it");
    }
    ~new_file() {
        if (fd_ >= 0)
            ::close(fd_);
        if (!kept_)
            ::unlink(path_.c_str());
    }
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;

    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t done = ::write(fd_, text.data(), text.size());
            if (done < 0 && errno == EINTR)
                continue;
            if (done < 0)
                fail(path_, std::string("cannot write it: ") + std::strerror(errno));
            text.remove_prefix(static_cast<std::size_t>(done));
        }
        if (::fsync(fd_) != 0 || ::close(std::exchange(fd_, -1)) != 0)
            fail(path_, std::string("cannot write it: ") + std::strerror(errno));
    }
    void keep() noexcept { kept_ = true; }
    const std::string& path() const noexcept { return path_; }

private:
    [[noreturn]] void fail_and_remove(const std::string& what) {
        const int reason = errno;
        if (fd_ >= 0) {
            ::close(fd_);
            ::unlink(path_.c_str());
        }
        fail(path_, what + ": " + std::strerror(reason));
    }

    std::string path_;
    int fd_ = -1;
    bool kept_ = false;
};

constexpr mode_t secret_mode = 0600;
constexpr mode_t public_mode = 0644;

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        fail("stdout", std::strerror(errno));
}

int make_session(const keygen_options& options) {
    new_file file(options.name + ".session", secret_mode);
    file.write(fmt::format("# Session key of a Rivulet lab: for all of its programs, and nobody else.\n{}\n",
                           make_session_key()));
    file.keep();
    json_writer json;
    print(options.json ? json.begin_object().field("session_key_file", file.path()).end_object().text() + '\n'
                       : fmt::format("{}: session key, secret. Copy it to every program of the lab, and set there\n"
                                     "  [security]\n  session_key = \"{}\"\n",
                                     file.path(), file.path()));
    return exit_done;
}

std::string described(const std::string& public_key, const keygen_options& options) {
    if (!options.json)
        return fmt::format("  public key  {}\n  its id      {}\n", public_key, key_id(public_key));
    json_writer json;
    json.begin_object();
    if (!options.show)
        json.field("secret_key_file", options.name + ".key").field("public_key_file", options.name + ".pub");
    return json.field("public_key", public_key).field("id", key_id(public_key)).end_object().text() + '\n';
}

int make_pair(const keygen_options& options) {
    const key_pair keys = make_key_pair();
    new_file secret(options.name + ".key", secret_mode);
    new_file open(options.name + ".pub", public_mode);
    secret.write(
        fmt::format("# Secret key of a Rivulet program: for nobody else. Its public key, of id {}, is\n# {}\n{}\n",
                    key_id(keys.public_key), keys.public_key, keys.secret_key));
    open.write(fmt::format("{} {}\n", keys.public_key, options.name.substr(options.name.rfind('/') + 1)));
    secret.keep();
    open.keep();
    print(options.json ? std::string()
                       : fmt::format("{}: secret; set [security] secret_key, or --secret-key, to it\n"
                                     "{}: for others: servers of who connects to it, clients of whom it connects to\n",
                                     secret.path(), open.path()));
    print(described(keys.public_key, options));
    return exit_done;
}

} // namespace

int make_keys(const keygen_options& options) {
    if (options.show) {
        print(described(public_key_of_file(options.name), options));
        return exit_done;
    }
    return options.session ? make_session(options) : make_pair(options);
}

} // namespace rivulet::tools
