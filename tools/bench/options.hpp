#pragma once

#include "bench/requirement.hpp"
#include "bench/work.hpp"
#include "common/cli.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rivulet::tools::bench {

/// One of our ways to deliver, as --modes names them.
struct mode {
    way how = way::async;
    bool spin = false; ///< the inlet spins before it sleeps
};
std::string to_string(const mode& m);

/// The command line of stream-bench; lists that were not given are empty, and each subcommand knows its own.
struct bench_options {
    common_options common;
    std::string subcommand;
    std::vector<std::string> command; ///< as typed

    std::uint64_t runs = 5;
    double seconds = 0.5;
    bool quick = false;
    bool json = false;
    bool csv = false;
    std::vector<requirement> required;

    std::optional<std::vector<carrier>> links;
    std::optional<std::vector<mode>> modes;
    std::optional<std::vector<std::uint64_t>> channels, chunks, consumers, streams, sizes;
    std::optional<std::vector<double>> rates;
    bool int16 = false;
    bool given_stamps = false;
    std::uint64_t buffer_bytes = 16u << 20;
    std::string folder = "bench-report"; ///< of report
};

/// Options to run with, or the exit code to end with at once. @throws usage_error.
std::variant<bench_options, int> parse_bench_options(int argc, const char* const* argv);

} // namespace rivulet::tools::bench
