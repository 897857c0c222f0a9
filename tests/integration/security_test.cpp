// Links with keys, as those see them who have none, or other ones. Attackers are contexts with other settings, and bare
// libzmq sockets.
#include "keys.hpp"
#include "lab.hpp"
#include "links.hpp"
#include "raw_client.hpp"
#include "waiting.hpp"

#include <rivulet/rivulet.hpp>

#include <gtest/gtest.h>
#include <thread>
#include <zmq.h>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::identity;
using support::key_file;
using support::lab;
using waiting::eventually;
using waiting::patience;

constexpr auto brief = 700ms; ///< long enough for a handshake, to see that none succeeds

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What is thrown, which must be of this code.
template<class F>
std::string refusal(errc code, F action) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), make_error_code(code)) << e.what();
        return e.what();
    }
    return "";
}

stream_info a_stream() { return {.name = "EEG", .format = channel_format::int64, .source_id = "amp"}; }

/// An outlet's owner, a consumer whom he lets in, and a lab around them.
struct secured_lab {
    lab around;
    identity owner, consumer;
    std::string session_key = key_file(make_session_key());

    config settings_of(const identity& who, std::vector<std::string> servers, std::vector<std::string> clients,
                       bool required = false) const {
        config out = around.settings;
        out.security.required = required;
        out.security.secret_key = who.file;
        out.security.servers = std::move(servers);
        out.security.clients = std::move(clients);
        out.security.session_key = session_key;
        out.log.level = "off";
        return out;
    }
    context owners(bool required = false) const {
        return context(settings_of(owner, {}, {consumer.keys.public_key}, required));
    }
    context consumers(bool required = false) const {
        return context(settings_of(consumer, {owner.keys.public_key}, {}, required));
    }
    context plain() const {
        config out = around.settings;
        out.log.level = "off";
        return context(out);
    }
};

outlet serve(const context& ctx, const std::string& endpoint, delivery mode = delivery::async) {
    outlet_options options;
    options.endpoints = {endpoint};
    options.mode = mode;
    options.ctx = ctx;
    return outlet(a_stream(), options);
}

inlet connect(const context& ctx, const std::string& endpoint, std::chrono::nanoseconds timeout = patience) {
    inlet_options options;
    options.ctx = ctx;
    options.open_timeout = timeout;
    return inlet(endpoint, options);
}

std::string without_key(const std::string& endpoint) { return endpoint.substr(0, endpoint.find("?key=")); }

void expect_works(outlet& out, inlet& in, std::int64_t value) {
    out.push_sample(value);
    std::int64_t got = 0;
    double stamp = 0;
    ASSERT_TRUE(in.pull_sample(got, stamp, patience));
    EXPECT_EQ(got, value);
}

class Secured : public ::testing::TestWithParam<links::link> {};
INSTANTIATE_TEST_SUITE_P(Over, Secured, ::testing::ValuesIn(links::zmq), links::name_of);

TEST_P(Secured, WhoIsLetInGetsDataInfoAndControl) {
    const secured_lab l;
    outlet out = serve(l.owners(true), GetParam().any());
    out.on_control([](const control_request& q) -> control_reply { return {.data = q.data}; });
    EXPECT_TRUE(out.endpoints().front().ends_with("?key=" + l.owner.id())) << out.endpoints().front();
    for (const std::string& service : out.service_endpoints())
        EXPECT_TRUE(service.ends_with("?key=" + l.owner.id())) << service;
    for (const std::string& endpoint : {out.endpoints().front(), without_key(out.endpoints().front())}) {
        inlet in = connect(l.consumers(true), endpoint);
        expect_works(out, in, 7);
        const std::array<std::byte, 3> message{std::byte{1}, std::byte{2}, std::byte{3}};
        const auto reply = in.send_control(message, {.timeout = patience});
        ASSERT_TRUE(reply);
        EXPECT_EQ(reply->data.size(), 3u);
        EXPECT_TRUE(in.remote_stats(patience));
        EXPECT_TRUE(in.time_correction(patience));
    }
    EXPECT_EQ(out.stats().refused, 0u);
}

TEST_P(Secured, AKeyThatIsNotOnTheListGetsNothing) {
    const secured_lab l;
    const identity stranger;
    outlet out = serve(l.owners(), GetParam().any());
    const context ctx(l.settings_of(stranger, {l.owner.keys.public_key}, {}));
    const std::string told = refusal(errc::not_connected, [&] { connect(ctx, out.endpoints().front(), brief); });
    EXPECT_TRUE(mentions(told, "refused this program's key")) << told;
    EXPECT_TRUE(eventually([&] { return out.stats().refused > 0; }));
    EXPECT_EQ(out.consumer_count(), 0u);
    inlet in = connect(l.consumers(), out.endpoints().front());
    expect_works(out, in, 1);
}

TEST_P(Secured, WhoComesOntoTheListIsLetInByARestart) {
    const secured_lab l;
    const identity late;
    const std::string endpoint = GetParam().fixed();
    auto out = std::make_unique<outlet>(serve(l.owners(), endpoint));
    const context ctx(l.settings_of(late, {l.owner.keys.public_key}, {}));
    std::thread restart([&] {
        EXPECT_TRUE(eventually([&] { return out->stats().refused > 0; }));
        out.reset();
        out = std::make_unique<outlet>(serve(context(l.settings_of(l.owner, {}, {late.keys.public_key})), endpoint));
    });
    std::optional<inlet> in;
    EXPECT_NO_THROW(in.emplace(connect(ctx, endpoint))) << "a refusal is not final";
    restart.join();
    if (in)
        expect_works(*out, *in, 5);
}

TEST_P(Secured, NoKeyGetsNothingAndIsToldSo) {
    const secured_lab l;
    outlet out = serve(l.owners(), GetParam().any());
    const std::string endpoint = out.endpoints().front();
    const std::string told = refusal(errc::not_supported, [&] { connect(l.plain(), endpoint, brief); });
    EXPECT_TRUE(mentions(told, "encrypted") && mentions(told, "stream-keygen")) << told;
    const std::string bare = refusal(errc::not_connected, [&] { connect(l.plain(), without_key(endpoint), brief); });
    EXPECT_TRUE(mentions(bare, "is encrypted")) << bare;
    EXPECT_TRUE(eventually([&] { return out.stats().refused > 0; }));
    EXPECT_EQ(out.stats().consumers, 0u);
}

TEST_P(Secured, AnOutletWithAnotherKeyIsNotTaken) {
    const secured_lab l;
    const identity impostor;
    // He lets everybody in whom he wants, but cannot have the key.
    outlet out = serve(context(l.settings_of(impostor, {}, {l.consumer.keys.public_key})), GetParam().any());
    const std::string there = without_key(out.endpoints().front());
    const std::string told = refusal(errc::not_connected, [&] { connect(l.consumers(), there, brief); });
    EXPECT_TRUE(mentions(told, "another key than expected")) << told;
    refusal(errc::not_connected, [&] { connect(l.consumers(), there + "?key=" + l.owner.id(), brief); });
    const std::string unknown =
        refusal(errc::not_supported, [&] { connect(l.consumers(), out.endpoints().front(), brief); });
    EXPECT_TRUE(mentions(unknown, impostor.id()) && mentions(unknown, "servers")) << unknown;
    EXPECT_EQ(out.consumer_count(), 0u);
}

TEST_P(Secured, APlainOutletIsNotTakenByAnInletWithKeys) {
    const secured_lab l;
    for (const bool required : {false, true}) {
        outlet out = serve(l.plain(), GetParam().any());
        const std::string told =
            refusal(errc::not_connected, [&] { connect(l.consumers(required), out.endpoints().front(), brief); });
        EXPECT_TRUE(mentions(told, "not encrypted")) << told;
        EXPECT_EQ(out.consumer_count(), 0u);
    }
}

TEST_P(Secured, SyncDeliveryAndLargeValuesWork) {
    const secured_lab l;
    outlet_options options;
    options.endpoints = {GetParam().any()};
    options.mode = delivery::sync;
    options.ctx = l.owners();
    outlet out({.name = "blobs", .format = channel_format::blob}, options);
    inlet in = connect(l.consumers(), out.endpoints().front());
    for (const std::size_t size : {0u, 1u, 255u, 256u, 8192u, 100'000u, 5'000'000u}) {
        const std::vector<std::byte> value(size, std::byte{42});
        std::thread push([&] { out.push_sample(std::span<const std::byte>(value)); });
        std::string got;
        double stamp = 0;
        EXPECT_TRUE(in.pull_sample(got, stamp, patience));
        push.join();
        EXPECT_EQ(got, std::string(size, '*')) << size;
    }
}

// --- bare sockets ---------------------------------------------------------------------------------------------------

/// libzmq without anything of ours.
class bare_socket {
public:
    explicit bare_socket(int type) : context_(::zmq_ctx_new()), socket_(::zmq_socket(context_, type)) {
        set(ZMQ_LINGER, 0);
        set(ZMQ_RCVTIMEO, static_cast<int>(std::chrono::milliseconds(brief).count()));
    }
    ~bare_socket() {
        ::zmq_close(socket_);
        ::zmq_ctx_term(context_);
    }
    bare_socket(const bare_socket&) = delete;
    bare_socket& operator=(const bare_socket&) = delete;

    void set(int option, int value) { ASSERT_EQ(::zmq_setsockopt(socket_, option, &value, sizeof value), 0); }
    void set(int option, const std::string& text) {
        ASSERT_EQ(::zmq_setsockopt(socket_, option, text.c_str(), text.size() + 1), 0);
    }
    /// @param own a key pair; null: none.
    void take_keys(const key_pair* own, const std::string& server) {
        const auto z85 = [](const std::string& key) { return key.substr(key.find(':') + 1); };
        const key_pair made = make_key_pair();
        const key_pair& mine = own == nullptr ? made : *own;
        set(ZMQ_CURVE_SECRETKEY, z85(mine.secret_key));
        set(ZMQ_CURVE_PUBLICKEY, z85(mine.public_key));
        set(ZMQ_CURVE_SERVERKEY, z85(server));
    }
    void connect(const std::string& endpoint) {
        std::string address = without_key(endpoint).substr(4); // "zmq+"
        if (const auto any = address.find("//*:"); any != std::string::npos)
            address.replace(any, 3, "//127.0.0.1");
        ASSERT_EQ(::zmq_connect(socket_, address.c_str()), 0) << address;
    }
    bool receives() {
        std::array<char, 4096> buffer{};
        return ::zmq_recv(socket_, buffer.data(), buffer.size(), 0) >= 0;
    }
    void send(const std::string& frame) { ::zmq_send(socket_, frame.data(), frame.size(), ZMQ_DONTWAIT); }
    void* get() { return socket_; }

private:
    void* context_;
    void* socket_;
};

/// [4, 1, op, {"uid": uid, ...}, nil]
std::string request(const std::string& op, const std::string& uid, const std::string& more = "") {
    return std::string("\x95\x04\x01") + static_cast<char>(0xa0 + op.size()) + op + (more.empty() ? "\x81" : "\x82") +
           "\xA3uid\xD9" + static_cast<char>(uid.size()) + uid + more + "\xC0";
}

TEST_P(Secured, ABareSubscriberSeesNothingWithoutAKeyThatIsLetIn) {
    const secured_lab l;
    outlet out = serve(l.owners(), GetParam().any());
    bare_socket plain(ZMQ_SUB), stranger(ZMQ_SUB), friendly(ZMQ_SUB);
    stranger.take_keys(nullptr, l.owner.keys.public_key);
    friendly.take_keys(&l.consumer.keys, l.owner.keys.public_key);
    for (bare_socket* one : {&plain, &stranger, &friendly}) {
        ::zmq_setsockopt(one->get(), ZMQ_SUBSCRIBE, "", 0);
        one->connect(out.endpoints().front());
    }
    friendly.set(ZMQ_RCVTIMEO, static_cast<int>(std::chrono::milliseconds(patience).count()));
    ASSERT_TRUE(friendly.receives()) << "any ZeroMQ program with the right keys can subscribe";
    for (std::int64_t i = 0; i < 10; ++i)
        out.push_sample(i);
    EXPECT_FALSE(plain.receives());
    EXPECT_FALSE(stranger.receives());
    EXPECT_TRUE(friendly.receives());
}

TEST_P(Secured, ABareAskerGetsNoAnswerAndControlsNothing) {
    const secured_lab l;
    outlet out = serve(l.owners(), GetParam().any());
    std::atomic<int> controlled{0};
    out.on_control([&](const control_request&) -> control_reply {
        ++controlled;
        return {};
    });
    bare_socket plain(ZMQ_DEALER), stranger(ZMQ_DEALER), friendly(ZMQ_DEALER);
    stranger.take_keys(nullptr, l.owner.keys.public_key);
    friendly.take_keys(&l.consumer.keys, l.owner.keys.public_key);
    std::string service;
    for (const std::string& one : out.service_endpoints())
        if (one.starts_with("zmq+"))
            service = one;
    ASSERT_FALSE(service.empty());
    const std::string control = request("control", out.info().uid,
                                        "\xA4"
                                        "data\xC4\x01x");
    for (bare_socket* one : {&plain, &stranger, &friendly}) {
        one->connect(service);
        one->send(request("info", out.info().uid));
        one->send(request("stats", out.info().uid));
        one->send(control);
    }
    friendly.set(ZMQ_RCVTIMEO, static_cast<int>(std::chrono::milliseconds(patience).count()));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(friendly.receives());
    EXPECT_TRUE(eventually([&] { return controlled == 1; }));
    EXPECT_FALSE(plain.receives());
    EXPECT_FALSE(stranger.receives());
    EXPECT_EQ(controlled, 1);
}

TEST(SecuredTcp, GarbageDisturbsNobody) {
    const secured_lab l;
    outlet out = serve(l.owners(), "zmq+tcp://127.0.0.1:*");
    inlet in = connect(l.consumers(), out.endpoints().front());
    for (unsigned seed = 0; seed < 50; ++seed) {
        const support::raw_client client(without_key(out.endpoints().front()));
        client.send(support::random_bytes(2000, seed));
    }
    expect_works(out, in, 3);
    EXPECT_EQ(in.stats().lost, 0u);
}

// --- what must not be plain -----------------------------------------------------------------------------------------

TEST(Required, PlainSocketsAreRefusedOnBothSides) {
    const secured_lab l;
    const context ctx = l.owners(true);
    for (const std::string& endpoint :
         {std::string("posix+tcp://127.0.0.1:*"), "posix+unix://" + links::fresh_path()}) {
        const std::string told = refusal(errc::not_supported, [&] { serve(ctx, endpoint); });
        EXPECT_TRUE(mentions(told, "security is required") && mentions(told, "zmq+tcp")) << told;
    }
    const std::string told = refusal(errc::not_supported, [&] { connect(ctx, "posix+tcp://127.0.0.1:9"); });
    EXPECT_TRUE(mentions(told, "security is required")) << told;
    outlet_options both;
    both.endpoints = {"zmq+tcp://127.0.0.1:*", "posix+tcp://127.0.0.1:*"};
    both.ctx = ctx;
    refusal(errc::not_supported, [&] { outlet(a_stream(), both); });
    outlet inside = serve(ctx, links::fresh_name()); // leaves no process
    inlet in = connect(ctx, inside.endpoints().front());
    expect_works(inside, in, 2);
}

TEST(Required, NeedsKeysForLinksAndBeacons) {
    const secured_lab l;
    config settings = l.settings_of(l.owner, {}, {}, true);
    settings.security.secret_key.clear();
    EXPECT_TRUE(mentions(refusal(errc::bad_config, [&] { context ctx(settings); }), "secret_key"));
    settings = l.settings_of(l.owner, {}, {}, true);
    settings.security.session_key.clear();
    EXPECT_TRUE(mentions(refusal(errc::bad_config, [&] { context ctx(settings); }), "session_key"));
    settings.discovery.enabled = false;
    EXPECT_NO_THROW(context ctx(settings)) << "no beacons, so no plain ones";
    settings = {};
    settings.security.clients = {l.consumer.keys.public_key};
    EXPECT_TRUE(mentions(refusal(errc::bad_config, [&] { context ctx(settings); }), "secret_key"));
}

TEST(Required, ASecretThatOthersCanReadIsRefused) {
    const secured_lab l;
    ::chmod(l.owner.file.c_str(), 0644);
    const std::string told = refusal(errc::bad_config, [&] { l.owners(); });
    EXPECT_TRUE(mentions(told, "chmod 600 " + l.owner.file)) << told;
}

// --- found streams --------------------------------------------------------------------------------------------------

found_stream find(const context& ctx, const std::string& name) { return resolve_one({.name = name}, patience, ctx); }

TEST(SecuredDiscovery, AStreamIsFoundAndOpenedWithTheKeyThatItsBeaconNames) {
    const secured_lab l;
    outlet out = serve(l.owners(true), "zmq+tcp://*:*");
    const context ctx = l.consumers(true);
    const found_stream found = find(ctx, "EEG");
    for (const std::string& endpoint : found.endpoints)
        EXPECT_TRUE(endpoint.ends_with("?key=" + l.owner.id())) << endpoint;
    inlet_options options;
    options.ctx = ctx;
    inlet in(found, options);
    expect_works(out, in, 9);
    const found_stream one[] = {found};
    EXPECT_TRUE(ask_info(one, patience, ctx)[0]);
    EXPECT_TRUE(ask_stats(one, patience, ctx)[0]);
    EXPECT_GT(ctx.discovery().received, 0u);
    EXPECT_EQ(ctx.discovery().unauthenticated, 0u);
}

TEST(SecuredDiscovery, StrangersFindNothingAndAreCounted) {
    const secured_lab l;
    const context owners = l.owners();
    outlet out = serve(owners, "zmq+tcp://127.0.0.1:*");
    const context plain = l.plain();
    EXPECT_TRUE(resolve({}, {.timeout = brief, .ctx = plain}).empty());
    EXPECT_TRUE(eventually([&] { return owners.discovery().unauthenticated > 0; })) << "its questions";
    config other = l.settings_of(l.consumer, {l.owner.keys.public_key}, {});
    other.security.session_key = key_file(make_session_key());
    EXPECT_TRUE(resolve({}, {.timeout = brief, .ctx = context(other)}).empty());
    EXPECT_FALSE(find(l.consumers(), "EEG").info.uid.empty());
}

TEST(SecuredDiscovery, APlainStreamOfTheSameNameAndSourceIsNotTaken) {
    const secured_lab l;
    // Insiders of the lab as far as beacons go; one of them offers the stream in the clear.
    config plain = l.around.settings;
    plain.security.session_key = l.session_key;
    plain.log.level = "off";
    outlet fake = serve(context(plain), "zmq+tcp://127.0.0.1:*");
    outlet posix = serve(context(plain), "posix+tcp://127.0.0.1:*");
    const context ctx = l.consumers(true);
    EXPECT_TRUE(resolve({}, {.timeout = brief, .ctx = ctx}).empty());
    outlet real = serve(l.owners(true), "zmq+tcp://127.0.0.1:*");
    const found_stream found = find(ctx, "EEG");
    EXPECT_EQ(found.info.uid, real.info().uid);
    EXPECT_EQ(find(context(plain), "EEG").info.name, "EEG");
    // A found stream of other origin is refused as well.
    found_stream made;
    made.info = fake.info();
    made.endpoints = {fake.endpoints().front(), posix.endpoints().front()};
    inlet_options options;
    options.ctx = ctx;
    options.open_timeout = 2 * brief;
    const std::string told = refusal(errc::not_connected, [&] { inlet in(made, options); });
    EXPECT_TRUE(mentions(told, "not encrypted") && mentions(told, "security is required")) << told;
}

TEST(SecuredDiscovery, AnEncryptedStreamTellsAProgramWithoutKeysWhatItLacks) {
    const secured_lab l;
    config members = l.around.settings;
    members.security.session_key = l.session_key;
    members.log.level = "off";
    const context ctx(members);
    outlet out = serve(l.owners(), "zmq+tcp://127.0.0.1:*");
    inlet_options options;
    options.ctx = ctx;
    options.open_timeout = brief;
    const found_stream found = find(ctx, "EEG");
    const std::string told = refusal(errc::not_connected, [&] { inlet in(found, options); });
    EXPECT_TRUE(mentions(told, "encrypted") && mentions(told, "secret_key")) << told;
}

TEST(SecuredDiscovery, ALostStreamIsNotReplacedByAPlainOneOrAnImpostor) {
    const secured_lab l;
    const context ctx = l.consumers();
    auto real = std::make_unique<outlet>(serve(l.owners(), "zmq+tcp://127.0.0.1:*"));
    inlet_options options;
    options.ctx = ctx;
    options.recover_for = patience;
    inlet in(find(ctx, "EEG"), options);
    config members = l.around.settings;
    members.security.session_key = l.session_key;
    members.log.level = "off";
    const identity impostor;
    outlet plain = serve(context(members), "zmq+tcp://127.0.0.1:*");
    outlet other = serve(context(l.settings_of(impostor, {}, {l.consumer.keys.public_key})), "zmq+tcp://127.0.0.1:*");
    real->stop(0s);
    real.reset();
    std::int64_t value = 0;
    double stamp = 0;
    // A stream that was stopped has ended; the next one of its source is looked for by hand.
    while (in.pull_sample(value, stamp, brief).status == pull_status::data) {
    }
    EXPECT_EQ(plain.consumer_count(), 0u);
    EXPECT_EQ(other.consumer_count(), 0u);
    EXPECT_TRUE(eventually([&] {
        for (const found_stream& s : resolve({.source_id = "amp"}, {.minimum = 0, .timeout = patience, .ctx = ctx}))
            if (s.info.uid == other.info().uid)
                return true;
        return false;
    }));
    inlet_options once;
    once.ctx = ctx;
    once.open_timeout = brief;
    EXPECT_TRUE(mentions(refusal(errc::not_connected, [&] { inlet again(find(ctx, "EEG"), once); }), impostor.id()));
}

} // namespace
} // namespace rivulet
