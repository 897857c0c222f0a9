#include "bench/output.hpp"
#include "bench/plans.hpp"
#include "common/exit_code.hpp"
#include "common/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace rivulet::tools::bench {
namespace {

/// A folder for sockets, gone at the end.
class temporary_folder {
public:
    temporary_folder() : path_((std::filesystem::temp_directory_path() / "stream-bench-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "cannot make a folder " + path_);
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

plan make_plan(const bench_options& o, const surroundings& around) {
    static constexpr std::pair<const char*, plan (*)(const bench_options&, const surroundings&)> plans[] = {
        {"raw", raw_plan},     {"matrix", matrix_plan},     {"latency", latency_plan}, {"throughput", throughput_plan},
        {"queue", queue_plan}, {"encoding", encoding_plan},
    };
    for (const auto& [name, make] : plans)
        if (o.subcommand == name)
            return make(o, around);
    throw usage_error("no such subcommand: " + o.subcommand);
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

/// Measures all groups; with the table, prints each when it is done.
std::vector<row> measure(const plan& p, const bench_options& o, bool table) {
    const text_table lines(p);
    std::vector<row> rows;
    std::size_t done = 0;
    if (table)
        print(lines.header() + '\n');
    for (const group& g : p.groups) {
        const auto progress = [&](const cell& c, std::uint64_t run) {
            show_status(fmt::format("group {} of {}, run {} of {}: {}", done + 1, p.groups.size(), run + 1, o.runs,
                                    fmt::join(c.labels, " ")));
        };
        for (row& r : run_group(g, p.comparisons, o.runs, progress)) {
            clear_status();
            if (table)
                print(lines.line(r) + '\n');
            rows.push_back(std::move(r));
        }
        ++done;
    }
    return rows;
}

int run(const bench_options& o) {
    const stop_signal stop;
    const temporary_folder folder;
    const surroundings around{stop, load_settings(o.common, "stream-bench", "warn"), folder.path()};
    const plan p = make_plan(o, around);
    const machine m = this_machine();
    const bool table = !o.json && !o.csv;
    if (table)
        print(describe(m) + '\n');
    std::vector<row> rows;
    try {
        rows = measure(p, o, table);
    } catch (const interrupted&) {
        clear_status();
        return exit_ended_early;
    }
    if (o.json)
        print(to_json(p, rows, m, o.command));
    if (o.csv)
        print(to_csv(p, rows));
    if (table)
        for (const std::string& note : p.notes)
            print(note + '\n');
    const auto broken = broken_requirements(o.required, rows);
    for (const std::string& line : broken)
        fmt::print(stderr, "stream-bench: {}\n", line);
    return broken.empty() ? exit_done : exit_failed;
}

} // namespace
} // namespace rivulet::tools::bench

int main(int argc, char** argv) {
    using namespace rivulet::tools;
    return run_tool("stream-bench", [&] {
        const auto options = bench::parse_bench_options(argc, argv);
        return std::holds_alternative<int>(options) ? std::get<int>(options)
                                                    : bench::run(std::get<bench::bench_options>(options));
    });
}
