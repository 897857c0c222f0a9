#pragma once

#include "discovery/beacon_codec.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rivulet::discovery {

/// The streams of this context, and what beacons say of them. A pure state machine: no I/O, no clock, no threads.
///
/// Each change is one revision. Whoever knows the set up to some revision needs the changes since then only; a change
/// of the set is announced as such, and beacons in between carry the whole set where it fits into one datagram, else
/// its revision, so that who lacks something asks for it.
class advertiser {
public:
    /// @param reserved bytes of each datagram for other use.
    advertiser(std::uint64_t key, const participant_id& id, std::string host, std::uint32_t interval_ms,
               std::size_t reserved = 0);

    /// Adds a stream, or changes one that is there. @return endpoints that did not fit into an advert.
    std::size_t add(const advert& a);
    /// @return false: there was none.
    bool remove(const std::string& uid);

    std::size_t size() const noexcept { return revision_of_.size(); }
    bool changed() const noexcept { return announced_ != revision_; }

    /// What has changed since the last call, as datagrams to be sent now.
    std::vector<datagram> take_changes();
    /// The beacon that says that all is as it was. @param answered of the question that it answers.
    datagram sign_of_life(const std::optional<nonce>& answered = std::nullopt) const;
    /// Calls `send` with each datagram that the query asks for.
    void answer(const query& q, const std::function<void(const datagram&)>& send) const;

private:
    struct entry {
        std::string uid;
        datagram bytes; ///< the item; empty for a stream that is gone
        bool gone = false;
    };
    using position = std::map<std::uint64_t, entry>::const_iterator;
    /// Where each part begins that the changes since `base` come in; the last one is the end.
    std::vector<position> split(std::uint64_t base) const;
    datagram part(const std::vector<position>& parts, std::uint32_t number, std::uint64_t base,
                  const std::optional<nonce>& answered) const;
    beacon head(std::uint64_t base, const std::optional<nonce>& answered) const;
    std::uint64_t known_base(std::uint64_t base) const noexcept { return base < forgotten_ ? 0 : base; }

    const std::uint64_t key_;
    const participant_id id_;
    const std::string host_;
    const std::uint32_t interval_ms_;
    const std::size_t reserved_;
    std::map<std::uint64_t, entry> changes_; ///< by revision: the last change of each stream
    std::unordered_map<std::string, std::uint64_t> revision_of_;
    std::size_t gone_ = 0; ///< entries of changes_ that are gone
    std::uint64_t revision_ = 0;
    std::uint64_t announced_ = 0;
    std::uint64_t forgotten_ = 0; ///< streams gone up to this revision are no longer known
};

} // namespace rivulet::discovery
