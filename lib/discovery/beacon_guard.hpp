#pragma once

#include "discovery/beacon_codec.hpp"
#include "platform/futex.hpp"
#include "security/keys.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <msgpack.hpp>
#include <optional>

namespace rivulet::discovery {

using platform::time_point;

/// Which of the growing numbers of one sender have come: each is taken once. Pure.
class replay_window {
public:
    static constexpr std::uint64_t size = 1024; ///< by how much datagrams may overtake each other

    /// False: it came before, or is too old to tell.
    bool take(std::uint64_t counter) noexcept;
    /// Nothing up to the highest number so far is taken any more.
    void close() noexcept { seen_.fill(UINT64_MAX); }

private:
    std::uint64_t top_ = 0;
    std::array<std::uint64_t, size / 64> seen_{}; ///< bit `counter % size`, of the last `size` numbers
};

/// Authenticates datagrams with a session key (BEACON.md), and keeps who has proved to be alive: what is proved by the
/// key could have been recorded long ago, unless it repeats a nonce of ours or comes from who did so before and counts
/// on. A pure state machine: time is an argument, no I/O. Threads: one at a time.
class beacon_guard {
public:
    /// Bytes by which a datagram gets longer at most, a nonce in its body included.
    static constexpr std::size_t overhead = 88;
    /// Longest datagram taken, one that was passed on included.
    static constexpr std::size_t max_bytes = max_passed_on_bytes + 40;
    static constexpr std::size_t most_senders = 8192;

    beacon_guard(const security::secret_bytes& key, std::uint64_t lab) : key_(key), lab_(lab) {}

    // --- sending
    /// A datagram as it goes out: with the next number and its proof.
    datagram seal(bytes_view plain);
    /// One that was sealed by somebody, with where it came from, proved by us.
    datagram pass_on(bytes_view sealed, const udp_address& origin) const;

    // --- receiving
    struct opened {
        bytes_view plain; ///< lies in what was opened
        std::uint64_t counter = 0;
        std::optional<udp_address> origin{}; ///< as a member of the lab says
    };
    beacon_error open(bytes_view sealed, opened& out) const;
    /// False: seen before. @param refused set where there is no room for another sender.
    bool take(const participant_id& sender, std::uint64_t counter, time_point now, bool& refused);

    // --- who is alive
    /// For a question that is sent now.
    const nonce& question(time_point now);
    /// Whether the sender has answered a question of ours, now or before. @param answered the nonce that it repeats.
    bool proven(const participant_id& sender, const std::optional<nonce>& answered, time_point now);
    /// Whether the sender, who is not proven, should be asked now; not too often.
    bool should_ask(const participant_id& sender, time_point now);

private:
    struct sender_state {
        replay_window window;
        time_point heard{};
        bool proven = false;
        time_point ask_again{};
    };
    struct asked {
        nonce value{};
        time_point made = time_point::min();
    };
    beacon_error open_origin(const msgpack::object& from, bytes_view sealed_proof, opened& out) const;
    bool forget_silent(time_point now);

    const security::secret_bytes key_;
    const std::uint64_t lab_;
    std::uint64_t counter_ = 0;
    std::map<participant_id, sender_state> senders_;
    asked now_, before_; ///< nonces
    double questions_left_ = 0;
    time_point questions_counted_{};
};

} // namespace rivulet::discovery
