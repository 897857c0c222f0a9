#include "common/event_log.hpp"

#include "common/stop_signal.hpp"
#include "temp_folder.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace rivulet::tools {
namespace {

TEST(EventLog, EachEventIsALineAtOnce) {
    const temp_folder folder;
    event_log events(folder / "events");
    events.emit("ready", [](json_writer& json) { json.field("uid", "7"); });
    const std::string line = folder.read("events");
    EXPECT_TRUE(line.starts_with(R"({"event":"ready","time":"2)")) << line;
    EXPECT_TRUE(line.ends_with("Z\",\"uid\":\"7\"}\n")) << line;
}

TEST(EventLog, NowhereAsksForNoFields) {
    event_log events;
    events.emit("ready", [](json_writer&) { FAIL(); });
    EXPECT_FALSE(events.enabled());
}

TEST(EventLog, APipeThatNobodyReadsHoldsNobodyUp) {
    const temp_folder folder;
    const stop_signal stop; // ignores SIGPIPE
    mkfifo((folder / "pipe").c_str(), 0600);
    const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
    event_log events(folder / "pipe");
    for (int i = 0; i < 5000; ++i)
        events.emit("status", [](json_writer& json) { json.field("text", std::string(100, 'x')); });
    EXPECT_GT(events.dropped(), 0u);
    EXPECT_FALSE(events.reader_gone());
    close(reader);
    EXPECT_TRUE(events.reader_gone());
    events.emit("status", [](json_writer&) {});
}

TEST(EventLog, LinesOfSeveralThreadsStayWhole) {
    const temp_folder folder;
    event_log events(folder / "events");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i)
                events.emit("status", [](json_writer& json) { json.field("n", 1); });
        });
    for (auto& thread : threads)
        thread.join();
    const std::string text = folder.read("events");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 800);
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        ASSERT_EQ(text.compare(at, 9, "{\"event\":"), 0);
}

TEST(EventLog, ErrorsNameThePath) { EXPECT_THROW(event_log("/no/such/folder/events"), std::system_error); }

} // namespace
} // namespace rivulet::tools
