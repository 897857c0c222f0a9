#pragma once

#include "links.hpp"

#include <rivulet/config.hpp>
#include <rivulet/keys.hpp>

#include <fstream>
#include <string>
#include <sys/stat.h>

/// Key files of a test, in its scratch folder.
namespace rivulet::support {

inline std::string key_file(const std::string& text, mode_t mode = 0600) {
    const std::string path = links::fresh_path();
    std::ofstream(path) << text << '\n';
    ::chmod(path.c_str(), mode);
    return path;
}

/// Somebody with a key pair.
struct identity {
    key_pair keys = make_key_pair();
    std::string file = key_file(keys.secret_key);
    std::string id() const { return key_id(keys.public_key); }
};

} // namespace rivulet::support
