#pragma once

#include <rivulet/export.hpp>

#include <string>
#include <string_view>

/// Keys for [security], as the texts that stand in files and settings. `stream-keygen` makes files of them.
///
///     curve-secret:<40 characters>    a program's own key; its file must be readable by its owner only
///     curve-public:<40 characters>    what others are given of it
///     session-key:<40 characters>     shared by all programs of a lab, for beacons; secret likewise
///
/// The characters are Z85 (ZeroMQ's RFC 32) of 32 bytes, so that any ZeroMQ program can use the keys. In files, a key
/// may be followed by a space and a comment; lines that begin with # are comments.
/// Threads: any.
namespace rivulet {

struct key_pair {
    std::string secret_key;
    std::string public_key;
};

/// A new key pair, from the system's random numbers.
RIVULET_API key_pair make_key_pair();
/// A new session key.
RIVULET_API std::string make_session_key();

/// The public key of a key pair in a file, which must be one that [security] secret_key would take.
/// @throws error bad_config: no such file, others can read it, or there is no key in it.
RIVULET_API std::string public_key_of_file(const std::string& secret_key_file);

/// What endpoints and messages name a public key by: 16 hexadecimal digits, a fingerprint, no secret and no proof.
/// @throws error bad_config: this is no public key.
RIVULET_API std::string key_id(std::string_view public_key);

} // namespace rivulet
