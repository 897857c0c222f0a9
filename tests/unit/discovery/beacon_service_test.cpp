// The service as core uses it: listeners on the I/O thread.
#include "lab.hpp"
#include "waiting.hpp"

#include <discovery/source_watch.hpp>
#include <platform/reactor.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>

namespace rivulet::discovery {
namespace {

using namespace std::chrono_literals;
using waiting::eventually;

class BeaconService : public ::testing::Test {
protected:
    static advert stream(const std::string& uid, const std::string& source_id) {
        advert a;
        a.info.name = "EEG";
        a.info.uid = uid;
        a.info.source_id = source_id;
        a.endpoints = {"zmq+tcp://*:5000"};
        return a;
    }
    struct told {
        std::mutex mutex;
        std::vector<std::pair<stream_event::kind, std::string>> events;
        void operator()(const stream_event& e) {
            const std::lock_guard lock(mutex);
            events.emplace_back(e.what, e.stream.info.uid);
        }
        bool has(stream_event::kind what, const std::string& uid) {
            const std::lock_guard lock(mutex);
            return std::ranges::count(events, std::pair(what, uid)) > 0;
        }
    };

    support::lab lab_;
    std::shared_ptr<platform::logger> log_ = platform::make_logger(lab_.settings.log);
    platform::reactor io_{"test-io"}, far_io_{"far-io"};
    beacon_service here_{lab_.settings, log_, io_}, there_{lab_.settings, log_, far_io_};
};

using kind = stream_event::kind;

TEST_F(BeaconService, AWatchIsToldOfItsSourceOnly) {
    there_.advertise(stream("u1", "amp"));
    there_.advertise(stream("u2", "other"));
    told all, mine;
    const source_watch everything(here_, "", "", std::ref(all));
    const source_watch amp(here_, "amp", "", std::ref(mine));
    ASSERT_TRUE(eventually([&] { return all.has(kind::appeared, "u2") && mine.has(kind::appeared, "u1"); }));
    there_.withdraw("u1");
    there_.advertise(stream("u3", "amp")); // restarted
    EXPECT_TRUE(eventually([&] { return mine.has(kind::disappeared, "u1") && mine.has(kind::appeared, "u3"); }));
    EXPECT_FALSE(mine.has(kind::appeared, "u2"));
    for (const char* uid : {"u2", "u3"})
        there_.withdraw(uid);
}

TEST_F(BeaconService, AWatchThatComesLaterIsToldWhatIsThere) {
    there_.advertise(stream("u1", "amp"));
    told first, second;
    const source_watch one(here_, "amp", "", std::ref(first));
    ASSERT_TRUE(eventually([&] { return first.has(kind::appeared, "u1"); }));
    const source_watch two(here_, "", "u1", std::ref(second));
    EXPECT_TRUE(eventually([&] { return second.has(kind::appeared, "u1"); }));
    there_.withdraw("u1");
}

TEST_F(BeaconService, AListenerMayRemoveItselfWhenItIsCalled) {
    there_.advertise(stream("u1", "amp"));
    struct once final : stream_listener {
        beacon_service& service;
        std::atomic<int> calls{0};
        explicit once(beacon_service& s) : service(s) { service.add(*this); }
        void on_stream(const stream_event&) override {
            service.remove(*this);
            ++calls;
        }
    } listener(here_);
    ASSERT_TRUE(eventually([&] { return listener.calls == 1; }));
    there_.advertise(stream("u2", "amp"));
    told all;
    const source_watch everything(here_, "", "", std::ref(all));
    ASSERT_TRUE(eventually([&] { return all.has(kind::appeared, "u2"); }));
    EXPECT_EQ(listener.calls, 1);
    for (const char* uid : {"u1", "u2"})
        there_.withdraw(uid);
}

TEST_F(BeaconService, ServiceEndpointsTravelWithTheAdvert) {
    advert a = stream("u1", "amp");
    a.service = {"zmq+tcp://*:5001", "posix+unix:///tmp/service"};
    there_.advertise(a);
    std::mutex mutex;
    std::vector<std::string> service;
    const source_watch watch(here_, "", "u1", [&](const stream_event& e) {
        const std::lock_guard lock(mutex);
        service = e.stream.service;
    });
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return service == std::vector<std::string>{"zmq+tcp://127.0.0.1:5001", "posix+unix:///tmp/service"};
    }));
    there_.withdraw("u1");
}

TEST_F(BeaconService, AServiceWithoutStreamsAndListenersHasNoSockets) {
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    const auto before = descriptors();
    {
        platform::reactor io("idle-io");
        const beacon_service idle(lab_.settings, log_, io);
        EXPECT_LE(descriptors(), before + 2); // the reactor's own
    }
    EXPECT_EQ(descriptors(), before);
}

} // namespace
} // namespace rivulet::discovery
