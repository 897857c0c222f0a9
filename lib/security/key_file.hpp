#pragma once

#include "security/keys.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Key files (rivulet/keys.hpp). `what` begins the messages: the setting that names the file. Threads: any.
namespace rivulet::security {

/// The one key in a file that only its owner can read. @throws error bad_config.
secret_bytes read_secret(std::string_view what, const std::string& path, std::string_view prefix);

/// The public keys that a setting names: the text of one, or a file with one a line. @throws error bad_config.
std::vector<key_bytes> read_public_keys(std::string_view what, const std::string& key_or_path);

/// The text of one public key. @throws error bad_config.
key_bytes parse_public(std::string_view what, std::string_view text);

} // namespace rivulet::security
