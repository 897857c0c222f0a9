// Finding streams with real sockets, on the loopback interface.
#include "child_process.hpp"
#include "lab.hpp"
#include "links.hpp"
#include "waiting.hpp"

#include <rivulet/rivulet.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <random>
#include <thread>

namespace rivulet {
namespace {

using namespace std::chrono_literals;
using support::child_process;
using support::lab;
using support::program_beside;
using waiting::eventually;
using waiting::patience;

outlet make_outlet(const std::string& name, const context& ctx,
                   std::vector<std::string> endpoints = {"posix+tcp://127.0.0.1:*"}) {
    outlet_options options;
    options.endpoints = std::move(endpoints);
    options.ctx = ctx;
    return outlet({.name = name, .type = "EEG", .nominal_rate_hz = 250, .source_id = "source-" + name}, options);
}

std::vector<std::string> names(const std::vector<found_stream>& streams) {
    std::vector<std::string> out;
    for (const found_stream& s : streams)
        out.push_back(s.info.name);
    return out;
}

using strings = std::vector<std::string>;

TEST(Discovery, AnOutletIsFoundWithAllThatIsSaidOfIt) {
    const lab here;
    const outlet out = make_outlet("EEG", here.make_context(), {"zmq+tcp://*:*"});
    const auto found = resolve({.name = "E*"}, {.timeout = patience, .ctx = here.make_context()});
    ASSERT_EQ(found.size(), 1u);
    const stream_info& info = found[0].info;
    EXPECT_EQ(info.name, "EEG");
    EXPECT_EQ(info.type, "EEG");
    EXPECT_EQ(info.source_id, "source-EEG");
    EXPECT_EQ(info.uid, out.info().uid);
    EXPECT_EQ(info.host, out.info().host);
    EXPECT_EQ(info.session, here.settings.session.name);
    EXPECT_EQ(info.nominal_rate_hz, 250);
    EXPECT_EQ(info.created_at, out.info().created_at);
    EXPECT_EQ(found[0].endpoints.front(), out.endpoints().front());
}

TEST(Discovery, OfSeveralWaysTheDirectOneIsSeenUnlessAllAreWanted) {
    const lab here;
    const context ctx = here.make_context();
    const auto relayed = [&](const std::string& origin, std::vector<std::string> relays) {
        outlet_options options;
        options.endpoints = {"posix+tcp://127.0.0.1:*"};
        options.ctx = ctx;
        return outlet({.name = "EEG", .origin = origin, .relays = std::move(relays)}, options);
    };
    outlet original = make_outlet("EEG", ctx);
    const std::string origin = original.info().uid;
    const outlet far = relayed(origin, {"a", "b"});
    const resolver all({.name = "EEG", .way = via::any}, here.make_context());
    const resolver best({.name = "EEG"}, here.make_context());
    const auto shown = [&] {
        const auto streams = best.streams();
        return streams.size() == 1 ? streams[0].info.uid : std::string();
    };
    EXPECT_TRUE(all.wait_for(2, patience));
    EXPECT_TRUE(best.wait_for(1, patience));
    EXPECT_TRUE(eventually([&] { return shown() == origin; }));
    original.stop();
    EXPECT_TRUE(eventually([&] { return shown() == far.info().uid; })) << "the only way left";
    const outlet near = relayed(origin, {"c"});
    EXPECT_TRUE(eventually([&] { return shown() == near.info().uid; })) << "a shorter one";
    EXPECT_EQ(best.streams()[0].info.relays, std::vector<std::string>{"c"});
    EXPECT_TRUE(all.wait_for(2, patience));
    EXPECT_EQ(resolve_one({.name = "EEG"}, patience, here.make_context()).info.uid, near.info().uid);
}

TEST(Discovery, AnInletOpensWhatWasFound) {
    const lab here;
    const context ctx = here.make_context();
    for (const links::link& link : links::between_processes) {
        outlet out = make_outlet(link.name, here.make_context(), {link.any()});
        inlet in(resolve_one({.name = link.name}, patience, ctx), {.open_timeout = patience, .ctx = ctx});
        EXPECT_EQ(in.info().uid, out.info().uid);
        out.push_sample(std::vector<float>{1.5f});
        std::vector<float> values;
        double stamp = 0;
        EXPECT_TRUE(in.pull_sample(values, stamp, patience));
        EXPECT_EQ(values, std::vector<float>{1.5f});
    }
}

TEST(Discovery, AResolverSeesStreamsComeAndGo) {
    const lab here;
    resolver search({.type = "EEG"}, here.make_context());
    EXPECT_TRUE(search.streams().empty());
    std::optional<outlet> out(make_outlet("a", here.make_context()));
    ASSERT_TRUE(search.wait_for(1, patience));
    pollfd readable{search.wait_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 60'000), 1);
    auto events = search.take_events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events[0].what, stream_event::kind::appeared);
    EXPECT_EQ(events[0].stream.info.uid, out->info().uid);
    out.reset(); // says goodbye: nothing has to expire
    ASSERT_TRUE(eventually([&] { return search.streams().empty(); }));
    ASSERT_TRUE(eventually([&] {
        for (const stream_event& e : search.take_events())
            events.push_back(e);
        return events.back().what == stream_event::kind::disappeared;
    }));
}

TEST(Discovery, ACallbackIsToldOfWhatIsThereAndOfWhatComes) {
    const lab here;
    const context ctx = here.make_context();
    const outlet first = make_outlet("a", ctx);
    resolver search({}, here.make_context());
    ASSERT_TRUE(search.wait_for(1, patience));
    std::mutex mutex;
    strings told;
    search.on_event([&](const stream_event& e) {
        const std::lock_guard lock(mutex);
        if (e.what == stream_event::kind::appeared)
            told.push_back(e.stream.info.name);
    });
    EXPECT_EQ(told, strings{"a"});
    const outlet second = make_outlet("b", ctx);
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return told == strings{"a", "b"};
    }));
    search.on_event({});
    const outlet third = make_outlet("c", ctx);
    ASSERT_TRUE(search.wait_for(3, patience));
    EXPECT_EQ(told.size(), 2u);
}

TEST(Discovery, OwnOutletsAreFoundInTheSameContext) {
    const lab here;
    const context ctx = here.make_context();
    const outlet out = make_outlet("mine", ctx);
    EXPECT_EQ(names(resolve({}, {.timeout = patience, .ctx = ctx})), strings{"mine"});
}

TEST(Discovery, AllIsFoundWithoutWaitingForTheTimeout) {
    const lab here;
    const context ctx = here.make_context();
    std::vector<outlet> outlets;
    for (int i = 0; i < 20; ++i)
        outlets.push_back(make_outlet("s" + std::to_string(i), ctx));
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(resolve({}, {.minimum = 0, .timeout = 10min, .ctx = here.make_context()}).size(), 20u);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 5min);
}

TEST(Discovery, NothingFoundIsAnEmptyResultInTime) {
    const lab here;
    EXPECT_TRUE(resolve({.name = "x"}, {.timeout = 50ms, .ctx = here.make_context()}).empty());
}

TEST(Discovery, ResolveOneNamesWhatItSawInstead) {
    const lab here;
    const context ctx = here.make_context();
    const outlet out = make_outlet("it's there", ctx);
    const resolver keeps_looking({}, ctx);
    ASSERT_TRUE(keeps_looking.wait_for(1, patience));
    try {
        resolve_one({.name = "EEG"}, 200ms, ctx);
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::not_connected);
        EXPECT_NE(std::string(e.what()).find("name \"EEG\""), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("\"it's there\""), std::string::npos) << e.what();
    }
    EXPECT_EQ(resolve_one({.name = "it's there"}, patience, ctx).info.uid, out.info().uid);
}

TEST(Discovery, CloseWakesWhoWaits) {
    const lab here;
    resolver search({}, here.make_context());
    std::thread closer([&] { search.close(); });
    EXPECT_FALSE(search.wait_for(1, forever));
    closer.join();
    EXPECT_FALSE(search.wait_until_settled(forever) && !search.settled());
}

TEST(Discovery, SwitchedOffNothingIsAdvertisedAndNothingFound) {
    const lab here;
    lab off = here;
    off.settings.discovery.enabled = false;
    const outlet silent = make_outlet("silent", off.make_context());
    const outlet loud = make_outlet("loud", here.make_context());
    EXPECT_EQ(names(resolve({}, {.minimum = 0, .timeout = patience, .ctx = here.make_context()})), strings{"loud"});
    EXPECT_THROW(resolver({}, off.make_context()), error);
}

TEST(Discovery, SessionsOnOnePortDoNotSeeEachOther) {
    lab a, b;
    b.settings.discovery.port = a.settings.discovery.port;
    const outlet in_a = make_outlet("in-a", a.make_context());
    const outlet in_b = make_outlet("in-b", b.make_context());
    EXPECT_EQ(names(resolve({}, {.minimum = 0, .timeout = patience, .ctx = b.make_context()})), strings{"in-b"});
}

TEST(Discovery, InprocEndpointsAreNotAdvertised) {
    const lab here;
    const context ctx = here.make_context();
    const outlet inside = make_outlet("inside", ctx, {links::fresh_name()});
    const outlet both = make_outlet("both", ctx, {links::fresh_name(), "posix+tcp://127.0.0.1:*"});
    const auto found = resolve({}, {.minimum = 0, .timeout = patience, .ctx = here.make_context()});
    ASSERT_EQ(names(found), strings{"both"});
    EXPECT_EQ(found[0].endpoints, strings{both.endpoints()[1]});
}

TEST(Discovery, AUnixSocketIsPreferredWhereItCanBeOpened) {
    const lab here;
    const context ctx = here.make_context();
    for (const std::string& path : {"posix+unix://" + links::fresh_path(), "zmq+ipc://" + links::fresh_path()}) {
        const outlet out = make_outlet("EEG", ctx, {"posix+tcp://*:*", path});
        found_stream found = resolve_one({.uid = out.info().uid}, patience, ctx);
        EXPECT_EQ(inlet(found, {.open_timeout = patience, .ctx = ctx}).endpoint(), path);
        // The same advert seen from where the path leads nowhere.
        for (std::string& endpoint : found.endpoints)
            if (endpoint == path)
                endpoint += "-of-another-host";
        EXPECT_EQ(inlet(found, {.open_timeout = patience, .ctx = ctx}).endpoint().substr(0, 9), "posix+tcp");
    }
}

TEST(Discovery, AnEndpointThatIsNowSomebodyElsesIsNotTaken) {
    const lab here;
    const context ctx = here.make_context();
    const outlet wanted = make_outlet("wanted", ctx);
    const outlet stranger = make_outlet("stranger", ctx);
    found_stream found = resolve_one({.name = "wanted"}, patience, ctx);
    found.endpoints.insert(found.endpoints.begin(), stranger.endpoints()[0]);
    EXPECT_EQ(inlet(found, {.open_timeout = patience, .ctx = ctx}).info().uid, wanted.info().uid);
    found.endpoints = {stranger.endpoints()[0]};
    try {
        inlet in(found, {.open_timeout = patience, .ctx = ctx});
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::not_connected);
        EXPECT_NE(std::string(e.what()).find("somebody else's stream, \"stranger\""), std::string::npos) << e.what();
    }
}

TEST(Discovery, AdvertisedHostsComeFirst) {
    lab here;
    here.settings.ports.advertise = {"outside.example.org", "203.0.113.7"};
    const context ctx = here.make_context();
    const outlet out = make_outlet("EEG", ctx, {"posix+tcp://*:*"});
    const std::string port = out.endpoints()[0].substr(out.endpoints()[0].rfind(':'));
    const auto found = resolve_one({}, patience, ctx);
    ASSERT_GE(found.endpoints.size(), 3u);
    EXPECT_EQ(found.endpoints[0], "posix+tcp://outside.example.org" + port);
    EXPECT_EQ(found.endpoints[1], "posix+tcp://203.0.113.7" + port);
    EXPECT_EQ(found.endpoints[2], "posix+tcp://127.0.0.1" + port);
}

TEST(Discovery, AThousandOutletsOfAProcessAreFoundCompletely) {
    const lab here;
    const context ctx = here.make_context();
    std::vector<outlet> outlets;
    for (int i = 0; i < 1000; ++i)
        outlets.push_back(make_outlet("s" + std::to_string(10'000 + i), ctx));
    const auto found = resolve({}, {.minimum = 1000, .timeout = patience, .ctx = here.make_context()});
    ASSERT_EQ(found.size(), 1000u);
    EXPECT_EQ(found.front().info.name, "s10000");
    EXPECT_EQ(found.back().info.name, "s10999");
}

TEST(Discovery, OtherProcessesAreFoundAndAKilledOneGoes) {
    lab here;
    here.settings.discovery.beacon_interval = 200ms;
    resolver search({}, here.make_context());
    child_process one({program_beside("test_source"), "posix+tcp://127.0.0.1:*", "async", "drop", "idle"},
                      here.environment());
    child_process two({program_beside("test_source"), "zmq+tcp://*:*", "async", "drop", "idle"}, here.environment());
    ASSERT_TRUE(search.wait_for(2, patience));
    one.signal(SIGKILL);
    ASSERT_TRUE(eventually([&] { return search.streams().size() == 1; }));
    two.signal(SIGTERM);
    ASSERT_TRUE(eventually([&] { return search.streams().empty(); }));
}

TEST(Discovery, AKnownPeerIsFoundByNameThroughWhicheverProcessGetsTheQuestion) {
    const lab here;
    std::vector<std::unique_ptr<child_process>> sources; // share the port: one of them gets the unicasts
    for (int i = 0; i < 3; ++i) {
        sources.push_back(std::make_unique<child_process>(
            strings{program_beside("test_source"), "posix+tcp://127.0.0.1:*", "async", "drop", "idle"},
            here.environment()));
        ASSERT_NE(sources.back()->line(), "");
    }
    lab elsewhere = here;
    elsewhere.settings.discovery.known_peers = {"localhost:" + std::to_string(here.settings.discovery.port),
                                                "no-such-host.invalid"};
    elsewhere.settings.discovery.port = support::free_udp_port(); // hears no multicast of theirs
    const auto found = resolve({}, {.minimum = 3, .timeout = patience, .ctx = elsewhere.make_context()});
    EXPECT_EQ(found.size(), 3u);
}

TEST(Discovery, GarbageOnThePortHarmsNobody) {
    const lab here;
    const context ctx = here.make_context();
    const outlet out = make_outlet("EEG", ctx);
    resolver search({}, here.make_context());
    ASSERT_TRUE(search.wait_for(1, patience));
    const int raw = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(here.settings.discovery.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::minstd_rand random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(random() % 3000, '\0');
        for (char& c : bytes)
            c = static_cast<char>(random());
        ::sendto(raw, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
    }
    ::close(raw);
    const outlet later = make_outlet("later", ctx);
    EXPECT_TRUE(search.wait_for(2, patience));
}

TEST(Discovery, OutletsAndResolversMayComeAndGoAtAnyMoment) {
    const lab here;
    const context ctx = here.make_context();
    std::atomic<bool> done{false};
    std::thread outlets([&] {
        for (int i = 0; i < 100; ++i)
            make_outlet("s" + std::to_string(i), ctx);
        done = true;
    });
    while (!done) {
        resolver search({.name = "s*"}, ctx);
        search.on_event([](const stream_event&) {});
        search.wait_for(1, 1ms);
    }
    outlets.join();
    EXPECT_TRUE(eventually([&] { return resolve({}, {.minimum = 0, .timeout = patience, .ctx = ctx}).empty(); }));
}

// --- asking what was found ------------------------------------------------------------------------------------------

TEST(Asking, OutletsTellTheirMetadataAndCounters) {
    const lab here;
    const context producer = here.make_context();
    stream_info described{.name = "described", .channel_count = 2};
    described.channel(1).label("Fp2");
    std::vector<outlet> outlets;
    for (const std::string endpoint : {"posix+tcp://127.0.0.1:*", "zmq+tcp://127.0.0.1:*"})
        outlets.emplace_back(described, outlet_options{.endpoints = {endpoint}, .ctx = producer});
    outlets[0].push_chunk(std::vector<float>(20));
    const context asker = here.make_context();
    const auto found = resolve({}, {.minimum = 2, .timeout = patience, .ctx = asker});
    ASSERT_EQ(found.size(), 2u);
    const auto infos = ask_info(found, patience, asker);
    const auto stats = ask_stats(found, patience, asker);
    ASSERT_EQ(infos.size(), 2u);
    ASSERT_EQ(stats.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(infos[i] && stats[i]) << found[i].endpoints.front();
        EXPECT_EQ(infos[i]->uid, found[i].info.uid);
        EXPECT_EQ(infos[i]->label(1), "Fp2");
        EXPECT_EQ(stats[i]->pushed, found[i].info.uid == outlets[0].info().uid ? 10u : 0u);
    }
}

TEST(Asking, AThousandAtOnce) {
    const lab here;
    const context producer = here.make_context();
    std::vector<outlet> outlets;
    for (int i = 0; i < 1000; ++i)
        outlets.push_back(make_outlet("s" + std::to_string(i), producer));
    const context asker = here.make_context();
    const auto found = resolve({}, {.minimum = 1000, .timeout = patience, .ctx = asker});
    ASSERT_EQ(found.size(), 1000u);
    for (const auto& info : ask_info(found, patience, asker))
        ASSERT_TRUE(info);
}

TEST(Asking, WhoDoesNotAnswerHoldsUpNobodyElse) {
    const lab here;
    child_process gone({program_beside("test_source"), "posix+tcp://127.0.0.1:*", "async", "drop", "idle"},
                       here.environment());
    ASSERT_NE(gone.line(), "");
    const outlet there = make_outlet("there", here.make_context());
    const context asker = here.make_context();
    auto found = resolve({}, {.minimum = 2, .timeout = patience, .ctx = asker});
    ASSERT_EQ(found.size(), 2u);
    ASSERT_TRUE(gone.stop());
    found_stream nowhere = found[0];
    nowhere.service.clear();
    found.push_back(nowhere);
    const auto stats = ask_stats(found, 1s, asker);
    ASSERT_EQ(stats.size(), 3u);
    EXPECT_FALSE(stats[2]);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(stats[i].has_value(), found[i].info.name == "there");
    gone.signal(SIGCONT);
}

} // namespace
} // namespace rivulet
