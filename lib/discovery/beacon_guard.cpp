#include "discovery/beacon_guard.hpp"

#include "wire/checked_unpack.hpp"
#include "wire/frame_packer.hpp"
#include "wire/msgpack_fields.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;
using packer = wire::frame_packer<wire::vector_sink>;
using wire::read_field;

constexpr std::string_view tag = "rvb";
constexpr std::uint64_t sealed_version = 2;
constexpr std::uint32_t elements = 7;
constexpr std::array<std::byte, 2> proof_header{std::byte{0xc4}, std::byte{security::proof_bytes}};
constexpr wire::unpack_budget budget{.values = 64, .depth = 3, .text_bytes = beacon_guard::max_bytes};

/// Answers may be put off by ten seconds; a state is kept for longer than a recorded answer could be used.
constexpr auto nonce_lifetime = 10s; ///< for questions
constexpr auto nonce_patience = 30s; ///< for answers
constexpr auto silence_patience = 60s;
constexpr auto ask_again_after = 250ms;
constexpr double most_questions = 64; ///< to senders who are not proven: at once, and ...
constexpr double questions_a_second = 200;

void pack_bytes(packer& pack, bytes_view bytes) {
    pack.pack_bin(static_cast<std::uint32_t>(bytes.size()));
    pack.pack_bin_body(reinterpret_cast<const char*>(bytes.data()), static_cast<std::uint32_t>(bytes.size()));
}

bool read_bytes(const msgpack::object& from, bytes_view& out) noexcept {
    if (from.type != msgpack::type::BIN)
        return false;
    out = {reinterpret_cast<const std::byte*>(from.via.bin.ptr), from.via.bin.size};
    return true;
}

/// Those of a sealed datagram; null: it is none.
const msgpack::object* fields_of(const msgpack::object& all) noexcept {
    std::string_view found_tag;
    std::uint64_t version = 0;
    const bool sealed = all.type == msgpack::type::ARRAY && all.via.array.size == elements &&
                        read_field(all.via.array.ptr[0], found_tag) && found_tag == tag &&
                        read_field(all.via.array.ptr[1], version) && version == sealed_version;
    return sealed ? all.via.array.ptr : nullptr;
}

/// What somebody who passes a datagram on proves: that this one came from there.
datagram origin_message(bytes_view sealed_proof, const udp_address& origin) {
    datagram out(sealed_proof.begin(), sealed_proof.end());
    const auto address = std::as_bytes(std::span(origin.bytes).first(origin.size()));
    out.insert(out.end(), address.begin(), address.end());
    out.push_back(static_cast<std::byte>(origin.port >> 8));
    out.push_back(static_cast<std::byte>(origin.port & 0xff));
    return out;
}

} // namespace

// --- replay_window --------------------------------------------------------------------------------------------------

bool replay_window::take(std::uint64_t counter) noexcept {
    const auto word = [this](std::uint64_t c) -> std::uint64_t& { return seen_[c % size / 64]; };
    const auto bit = [](std::uint64_t c) { return std::uint64_t{1} << c % 64; };
    if (counter == 0)
        return false;
    if (counter > top_) {
        if (counter - top_ >= size)
            seen_.fill(0);
        else
            for (std::uint64_t c = top_ + 1; c < counter; ++c)
                word(c) &= ~bit(c);
        top_ = counter;
    } else if (top_ - counter >= size || (word(counter) & bit(counter)) != 0) {
        return false;
    }
    word(counter) |= bit(counter);
    return true;
}

// --- datagrams ------------------------------------------------------------------------------------------------------

datagram beacon_guard::seal(bytes_view plain) {
    datagram out;
    out.reserve(plain.size() + overhead);
    wire::vector_sink sink(out);
    packer pack(sink);
    pack.pack_array(elements);
    pack.pack_text(tag);
    pack.pack_uint64(sealed_version);
    pack.pack_fix_uint64(lab_);
    pack_bytes(pack, plain);
    pack.pack_fix_uint64(++counter_);
    pack_bytes(pack, security::prove(key_, out));
    pack.pack_nil();
    return out;
}

datagram beacon_guard::pass_on(bytes_view sealed, const udp_address& origin) const {
    datagram out(sealed.begin(), sealed.end() - 1); // all but the nil in the origin's place
    const bytes_view proof = sealed.subspan(sealed.size() - 1 - security::proof_bytes, security::proof_bytes);
    wire::vector_sink sink(out);
    packer pack(sink);
    pack.pack_array(3);
    pack_bytes(pack, std::as_bytes(std::span(origin.bytes).first(origin.size())));
    pack.pack_uint16(origin.port);
    pack_bytes(pack, security::prove(key_, origin_message(proof, origin)));
    return out;
}

beacon_error beacon_guard::open(bytes_view sealed, opened& out) const {
    if (sealed.size() > max_bytes)
        return beacon_error::too_large;
    out = {};
    msgpack::object_handle handle;
    const bool shallow = wire::checked_unpack(sealed, budget, handle) == wire::frame_error::none;
    const auto* const field = shallow ? fields_of(handle.get()) : nullptr;
    if (field == nullptr) { // a plain one, or nothing
        message plain;
        const beacon_error wrong = decode(sealed, lab_, plain, false);
        return wrong == beacon_error::none ? beacon_error::unauthenticated : wrong;
    }
    std::uint64_t lab = 0;
    bytes_view proof;
    if (!read_field(field[2], lab) || !read_bytes(field[3], out.plain) || !read_field(field[4], out.counter) ||
        !read_bytes(field[5], proof) || proof.size() != security::proof_bytes)
        return beacon_error::malformed;
    if (lab != lab_)
        return beacon_error::foreign_lab;
    // What is proved is all before the proof's header, which has one form only.
    const auto before = static_cast<std::size_t>(proof.data() - sealed.data()) - proof_header.size();
    if (!std::ranges::equal(sealed.subspan(before, proof_header.size()), proof_header) ||
        !security::proves(key_, sealed.first(before), proof))
        return beacon_error::unauthenticated;
    return open_origin(field[6], proof, out);
}

beacon_error beacon_guard::open_origin(const msgpack::object& from, bytes_view sealed_proof, opened& out) const {
    if (from.type == msgpack::type::NIL)
        return beacon_error::none;
    bytes_view address, proof;
    std::uint64_t port = 0;
    if (from.type != msgpack::type::ARRAY || from.via.array.size != 3 || !read_bytes(from.via.array.ptr[0], address) ||
        (address.size() != 4 && address.size() != 16) || !read_field(from.via.array.ptr[1], port) || port == 0 ||
        port > UINT16_MAX || !read_bytes(from.via.array.ptr[2], proof))
        return beacon_error::malformed;
    udp_address origin;
    origin.ipv6 = address.size() == 16;
    origin.port = static_cast<std::uint16_t>(port);
    std::memcpy(origin.bytes.data(), address.data(), address.size());
    if (origin.is_multicast() || (origin.ipv6 && origin.is_link_local()))
        return beacon_error::malformed;
    if (!security::proves(key_, origin_message(sealed_proof, origin), proof))
        return beacon_error::unauthenticated;
    out.origin = origin;
    return beacon_error::none;
}

// --- who sends ------------------------------------------------------------------------------------------------------

/// Makes room; whoever is silent for so long has to prove anew that he is alive.
bool beacon_guard::forget_silent(time_point now) {
    return std::erase_if(senders_, [&](const auto& entry) { return now - entry.second.heard > silence_patience; }) > 0;
}

bool beacon_guard::take(const participant_id& sender, std::uint64_t counter, time_point now, bool& refused) {
    refused = false;
    auto at = senders_.find(sender);
    if (at != senders_.end() && now - at->second.heard > silence_patience)
        at = (senders_.erase(at), senders_.end());
    if (at == senders_.end()) {
        refused = senders_.size() >= most_senders && !forget_silent(now);
        if (refused)
            return false;
        at = senders_.emplace(sender, sender_state{}).first;
        at->second.heard = now;
        const bool first = at->second.window.take(counter);
        at->second.window.close();
        return first;
    }
    if (!at->second.window.take(counter))
        return false;
    at->second.heard = now;
    return true;
}

const nonce& beacon_guard::question(time_point now) {
    if (now_.made == time_point::min() || now - now_.made > nonce_lifetime)
        before_ = std::exchange(now_, asked{make_participant_id(), now});
    return now_.value;
}

bool beacon_guard::proven(const participant_id& sender, const std::optional<nonce>& answered, time_point now) {
    sender_state& state = senders_[sender];
    if (state.proven || !answered)
        return state.proven;
    state.proven = std::ranges::any_of(std::array{now_, before_}, [&](const asked& a) {
        return a.made != time_point::min() && now - a.made <= nonce_patience && a.value == *answered;
    });
    if (state.proven)
        state.window.close(); // what was said before this answer may be old
    return state.proven;
}

bool beacon_guard::should_ask(const participant_id& sender, time_point now) {
    sender_state& state = senders_[sender];
    questions_left_ =
        std::min(most_questions, questions_left_ + questions_a_second *
                                                       std::chrono::duration<double>(now - questions_counted_).count());
    questions_counted_ = now;
    if (now < state.ask_again || questions_left_ < 1)
        return false;
    state.ask_again = now + ask_again_after;
    questions_left_ -= 1;
    return true;
}

} // namespace rivulet::discovery
