#include "bench/output.hpp"
#include "bench/report.hpp"
#include "bench/runner.hpp"
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

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

/// Measures one subcommand and prints it; the table as it comes.
std::vector<row> measure(const bench_options& o, const surroundings& around, const machine& m) {
    const plan p = make_plan(o.subcommand, o, around);
    const text_table lines(p);
    const bool table = !o.json && !o.csv;
    if (table)
        print(describe(m) + '\n' + lines.header() + '\n');
    std::vector<row> rows = run_plan(p, o.runs, [&](const std::vector<row>& some) {
        for (const row& r : some)
            if (table)
                print(lines.line(r) + '\n');
    });
    if (o.json)
        print(to_json(p, rows, m, o.command));
    if (o.csv)
        print(to_csv(p, rows));
    if (table)
        for (const std::string& note : p.notes)
            print(note + '\n');
    return rows;
}

int run(const bench_options& o) {
    const stop_signal stop;
    const temporary_folder folder;
    const surroundings around{stop, load_settings(o.common, "stream-bench", "warn"), folder.path()};
    const machine m = this_machine();
    std::vector<row> rows;
    try {
        rows = o.subcommand == "report" ? write_report(o, around, m) : measure(o, around, m);
    } catch (const interrupted&) {
        clear_status();
        return exit_ended_early;
    }
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
