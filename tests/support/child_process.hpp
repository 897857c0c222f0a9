#pragma once

#include "waiting.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rivulet::support {

/// A program built beside this one.
inline std::string program_beside(const std::string& name) {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

/// A program that runs while a test does: what it prints is read line by line, and it never outlives this object.
class child_process {
public:
    /// `extra_environment`: NAME=VALUE, added to this process's own.
    explicit child_process(const std::vector<std::string>& command,
                           const std::vector<std::string>& extra_environment = {}) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe");
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        std::vector<char*> arguments, variables;
        for (const std::string& argument : command)
            arguments.push_back(const_cast<char*>(argument.c_str()));
        arguments.push_back(nullptr);
        for (char** variable = environ; *variable; ++variable)
            variables.push_back(*variable);
        for (const std::string& variable : extra_environment)
            variables.push_back(const_cast<char*>(variable.c_str()));
        variables.push_back(nullptr);
        const int failure = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        out_ = ends[0];
        if (failure != 0)
            throw std::runtime_error("cannot start " + command[0]);
    }
    ~child_process() {
        if (!status_) {
            signal(SIGKILL);
            int ignored = 0;
            ::waitpid(pid_, &ignored, 0);
        }
        ::close(out_);
    }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number) const { ::kill(pid_, number); }

    /// The next line that it prints; "" when it ended, or says nothing for too long (which fails the test).
    std::string line() {
        for (;;) {
            if (const auto end = text_.find('\n'); end != std::string::npos) {
                std::string first = text_.substr(0, end);
                text_.erase(0, end + 1);
                return first;
            }
            pollfd entry{out_, POLLIN, 0};
            const int ready = ::poll(&entry, 1, std::chrono::milliseconds(waiting::patience).count());
            if (ready == 0)
                ADD_FAILURE() << "a child process says nothing";
            char buffer[4096];
            const ssize_t got = ready > 0 ? ::read(out_, buffer, sizeof(buffer)) : 0;
            if (got <= 0)
                return "";
            text_.append(buffer, static_cast<std::size_t>(got));
        }
    }
    /// Reads until a line equals `wanted`; false when none does.
    bool says(const std::string& wanted) {
        for (std::string text = line(); !text.empty(); text = line())
            if (text == wanted)
                return true;
        return false;
    }

    /// Waits for its end: its exit code, or 128 + signal; nothing when it does not end within `limit`.
    std::optional<int> exit_code(std::chrono::nanoseconds limit = waiting::patience) {
        waiting::eventually(
            [&] {
                int status = 0;
                if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
                    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                return status_.has_value();
            },
            limit);
        return status_;
    }

    /// Stops all its threads, and returns when they are.
    bool stop() const {
        signal(SIGSTOP);
        return waiting::eventually([&] {
            for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task"))
                if (waiting::thread_state(pid_, std::stoi(thread.path().filename().string())) != 'T')
                    return false;
            return true;
        });
    }
    /// True once its first thread waits for something that does not come.
    bool blocked() const { return waiting::blocks(pid_, pid_); }

    struct usage {
        double cpu_seconds = 0;
        std::uint64_t voluntary_switches = 0;
    };
    /// What all of its threads have used since it started.
    usage used() const {
        usage sum;
        std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
        std::string text;
        std::getline(stat, text);
        std::istringstream fields(text.substr(text.rfind(')') + 2));
        std::string field;
        for (int i = 3; i <= 15 && fields >> field; ++i)
            if (i >= 14)
                sum.cpu_seconds += std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
        for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
            std::ifstream status(thread.path() / "status");
            for (std::string line; std::getline(status, line);)
                if (line.starts_with("voluntary_ctxt_switches:"))
                    sum.voluntary_switches += std::stoull(line.substr(line.find(':') + 1));
        }
        return sum;
    }

private:
    pid_t pid_ = -1;
    int out_ = -1;
    std::string text_;
    std::optional<int> status_;
};

} // namespace rivulet::support
