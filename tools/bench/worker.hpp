#pragma once

#include "common/stop_signal.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace rivulet::tools::bench {

/// What a process of a measurement found out, by name.
using findings = std::map<std::string, double>;

/// The child's end.
class worker_link {
public:
    worker_link(int out, int in) : out_(out), in_(in) {}
    /// Ready to begin; `text` tells the parent more (where it listens).
    void ready(std::string_view text = {}) const { write_line("ready", text); }
    /// Waits until the parent says that all are ready.
    void wait_for_go() const;
    /// After go.
    void report(std::string_view name, double value) const;
    void fail(std::string_view what) const { write_line("error", what); }

private:
    void write_line(std::string_view word, std::string_view text) const;
    int out_;
    int in_;
};

/// One process of a measurement: a fork of this program that runs `body`, says when it is ready, waits for go, reports
/// and ends. The program that forks has no threads and uses neither Rivulet nor libzmq itself, so the child begins as
/// clean as after exec, and needs nothing passed to it as text. A worker that outlives its owner is killed.
class worker {
public:
    /// @param what names it in messages.
    worker(std::string what, const std::function<void(worker_link&)>& body);
    ~worker();
    worker(worker&& other) noexcept;
    worker& operator=(worker&&) = delete;

    /// Waits until it is ready; what it told. @throws std::runtime_error: it failed, or took longer than `patience_s`.
    /// @throws interrupted.
    std::string wait_ready(const stop_signal& stop, double patience_s);
    void go() const;
    /// Waits for its end. @throws as wait_ready.
    findings collect(const stop_signal& stop, double patience_s);

private:
    /// The next line; false at its end.
    bool next_line(std::string& line, const stop_signal& stop, double deadline);

    std::string what_;
    pid_t pid_ = -1;
    int from_ = -1;
    int to_ = -1;
    std::string pending_;
};

/// A stop was asked for in the middle of a measurement.
struct interrupted {};

} // namespace rivulet::tools::bench
