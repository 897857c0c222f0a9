#pragma once

#include "security/keys.hpp"

#include <rivulet/config.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace rivulet::security {

/// The keys of a context, as [security] names them; constant. Whoever holds the context's own secret key is trusted
/// both as an outlet and as a consumer. Threads: any.
class keyring {
public:
    /// Reads the files. @throws error bad_config: names the file, what is wrong, what to do.
    explicit keyring(const config::security_section& settings);

    bool required() const noexcept { return required_; }
    /// There is a key pair: all ZeroMQ links are CURVE.
    bool curve() const noexcept { return own_.has_value(); }
    /// Of the own key pair; there must be one.
    const key_bytes& secret_key() const noexcept { return own_->secret.bytes(); }
    const key_bytes& public_key() const noexcept { return own_->public_key; }
    const std::string& id() const noexcept { return own_->id; }

    /// The key that the outlet must have there. @param id as its endpoint says, empty: the only one there is; the own
    /// one where none is configured. @throws error not_supported: not known, or not clear which.
    const key_bytes& server(std::string_view id, std::string_view endpoint) const;
    /// Whether a consumer may come in.
    bool admits(const key_bytes& client) const { return clients_.contains(client); }

    /// For beacons; null: they are plain.
    const secret_bytes* session_key() const noexcept { return session_ ? &*session_ : nullptr; }

private:
    struct pair {
        secret_bytes secret;
        key_bytes public_key{};
        std::string id;
    };
    bool required_;
    std::optional<pair> own_;
    std::map<std::string, key_bytes, std::less<>> servers_; ///< by id
    std::set<key_bytes> clients_;
    std::optional<secret_bytes> session_;
};

} // namespace rivulet::security
