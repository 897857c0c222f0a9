#include "security/keyring.hpp"

#include "security/key_file.hpp"

#include <rivulet/error.hpp>

#include <fmt/format.h>

namespace rivulet::security {

keyring::keyring(const config::security_section& settings) : required_(settings.required) {
    if (!settings.secret_key.empty()) {
        pair own{read_secret("[security] secret_key", settings.secret_key, secret_prefix), {}, {}};
        own.public_key = public_of(own.secret);
        own.id = id_of(own.public_key);
        clients_.insert(own.public_key);
        own_ = std::move(own);
    }
    for (const std::string& entry : settings.servers)
        for (const key_bytes& key : read_public_keys("[security] servers", entry))
            servers_.emplace(id_of(key), key);
    for (const std::string& entry : settings.clients)
        for (const key_bytes& key : read_public_keys("[security] clients", entry))
            clients_.insert(key);
    if (!settings.session_key.empty())
        session_ = read_secret("[security] session_key", settings.session_key, session_prefix);
}

const key_bytes& keyring::server(std::string_view id, std::string_view endpoint) const {
    if (id == own_->id || (id.empty() && servers_.empty()))
        return own_->public_key;
    if (id.empty() && servers_.size() == 1)
        return servers_.begin()->second;
    if (const auto found = servers_.find(id); found != servers_.end())
        return found->second;
    std::string known = own_->id;
    for (const auto& [other, key] : servers_)
        known += ", " + other;
    if (id.empty())
        throw error(
            errc::not_supported,
            fmt::format("endpoint {}: [security] servers has several keys, and this endpoint does not say which "
                        "its outlet has; append ?key=ID (known: {})",
                        endpoint, known));
    throw error(errc::not_supported,
                fmt::format("endpoint {}: the outlet's key is {}, which is none that [security] servers names (known: "
                            "{}); add its public key there if you trust it",
                            endpoint, id, known));
}

} // namespace rivulet::security
