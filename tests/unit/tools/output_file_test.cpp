#include "common/output_file.hpp"

#include "temp_folder.hpp"

#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rivulet::tools {
namespace {

TEST(OutputFile, WritesWhatIsFlushed) {
    const temp_folder folder;
    const stop_signal stop;
    output_file file(folder / "out", stop);
    file.buffer() += "hello";
    file.written();
    EXPECT_EQ(folder.read("out"), "");
    file.flush();
    EXPECT_EQ(folder.read("out"), "hello");
}

TEST(OutputFile, ErrorsNameThePath) {
    const temp_folder folder;
    const stop_signal stop;
    try {
        output_file file(folder / "no/such/folder", stop);
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("no/such/folder"), std::string::npos);
    }
}

TEST(OutputFile, AFullDiskIsAnError) {
    const stop_signal stop;
    output_file file("/dev/full", stop);
    file.buffer() += "x";
    EXPECT_THROW(file.flush(), std::system_error);
}

/// A named pipe, its read end open.
struct pipe_end {
    explicit pipe_end(const std::string& path) {
        mkfifo(path.c_str(), 0600);
        fd = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    }
    ~pipe_end() { leave(); }
    void leave() {
        if (fd >= 0)
            close(std::exchange(fd, -1));
    }
    int fd = -1;
};

TEST(OutputFile, AReaderThatLeftIsNoticed) {
    const temp_folder folder;
    const stop_signal stop;
    pipe_end reader(folder / "pipe");
    output_file file(folder / "pipe", stop);
    EXPECT_FALSE(file.reader_gone());
    reader.leave();
    EXPECT_TRUE(file.reader_gone());
    file.buffer() += "x";
    EXPECT_THROW(file.flush(), output_closed);
}

TEST(OutputFile, AStopEndsAWriteThatNobodyReads) {
    const temp_folder folder;
    stop_signal stop;
    pipe_end reader(folder / "pipe");
    output_file file(folder / "pipe", stop);
    file.buffer().assign(1 << 20, 'x');
    auto writing = std::async(std::launch::async, [&] { file.flush(); });
    stop.request();
    EXPECT_THROW(writing.get(), output_closed);
}

} // namespace
} // namespace rivulet::tools
