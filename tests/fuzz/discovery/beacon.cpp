#include "fuzz_target.hpp"
#include "msgpack_mutator.hpp"

#include <discovery/beacon_node.hpp>

using namespace rivulet;
using namespace rivulet::discovery;
using fuzz::require;

namespace {

/// A network that only measures what is sent.
struct no_network final : datagram_network {
    void send_to_all(bytes_view bytes) override { note(bytes); }
    void send_to_host(bytes_view bytes) override { note(bytes); }
    void send_to(const udp_address&, bytes_view bytes) override { note(bytes); }
    void note(bytes_view bytes) {
        require(bytes.size() <= max_passed_on_bytes, "a datagram fits");
        ++datagrams;
    }
    std::size_t datagrams = 0;
};

const std::uint64_t key = lab_key("default", "239.255.83.76", "ff05::5256:4c54");

void check_beacon(const message& m, const beacon& b) {
    require(b.base <= b.revision, "changes begin before they end");
    require(b.parts == 0 ? b.part == 0 : b.part < b.parts, "a part is one of its parts");
    std::vector<datagram> made;
    std::vector<bytes_view> items;
    for (const advert& a : b.adverts) {
        validate(a.info);
        require(!a.endpoints.empty() && a.endpoints.size() <= max_endpoints, "some endpoints, not many");
        std::size_t left_out = 0;
        made.push_back(encode_advert(a, left_out));
        if (made.back().empty())
            return; // longer than we would send it
    }
    for (const std::string& uid : b.gone)
        made.push_back(encode_gone(uid));
    for (const datagram& item : made)
        items.emplace_back(item);
    const datagram bytes = encode_beacon(key, m.sender, b, items);
    if (bytes.size() > max_passed_on_bytes)
        return; // was written more tightly than we do
    message again;
    require(decode(bytes, key, again) == beacon_error::none, "what was decoded can be encoded");
    const auto& same = std::get<beacon>(again.body);
    require(same.adverts.size() == b.adverts.size() && same.gone == b.gone && same.revision == b.revision,
            "what is encoded again means the same");
}

/// Without these first three elements, nothing is looked at.
void repair_head(fuzz::msgpack_value& root) {
    if (root.what != fuzz::msgpack_value::kind::array)
        root = {fuzz::msgpack_value::kind::array, 0, {}, {}};
    root.items.resize(7);
    root.items[0] = fuzz::msgpack_value::str("rvb");
    root.items[1] = fuzz::msgpack_value::uint(1);
    root.items[2] = fuzz::msgpack_value::uint(key);
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    return fuzz::mutate_msgpack(data, size, max_size, seed, repair_head);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const bytes_view bytes = fuzz::as_view(data, size);
    message m;
    if (fuzz::count(decode(bytes, key, m) == beacon_error::none))
        if (const auto* b = std::get_if<beacon>(&m.body))
            check_beacon(m, *b);

    // A node that has a stream and is interested takes it, and goes on living.
    no_network network;
    node_options options;
    options.key = key;
    options.id[0] = std::byte{1};
    beacon_node node(options, network);
    advert mine;
    mine.info.name = "mine";
    mine.info.uid = "mine";
    mine.endpoints = {"zmq+tcp://*:5000"};
    platform::time_point time(std::chrono::hours(1));
    node.advertise(mine, time);
    node.announce(time);
    node.set_interest(true, time);
    udp_address from;
    from.bytes = {10, 0, 0, 7};
    from.port = 4711;
    for (const bool here : {false, true}) {
        node.on_datagram(bytes, {from, here, here}, time);
        node.on_turn(time);
        time += std::chrono::seconds(2);
        node.on_turn(time);
    }
    require(network.datagrams < 1000, "a datagram causes few others");
    require(node.registry().streams().size() <= max_passed_on_bytes, "a datagram holds few streams");
    time += std::chrono::minutes(10);
    node.on_turn(time);
    require(node.registry().participants() <= 1, "who is silent is forgotten");
    return 0;
}
