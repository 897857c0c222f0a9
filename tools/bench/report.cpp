#include "bench/report.hpp"

#include "bench/output.hpp"
#include "bench/runner.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>

extern char** environ;

namespace rivulet::tools::bench {
namespace {

/// What is drawn of a subcommand's rows: a line for each link and way, of the rows that differ in `x` only.
struct drawing {
    const char* subcommand;
    const char* x;
    const char* metric;
    const char* title;
};

constexpr drawing drawings[] = {
    {"matrix", "chunk", "sender_net_cpu_us", "Sender CPU (us) a chunk, by samples a chunk"},
    {"matrix", "chunk", "receiver_cpu_us", "Receiver CPU (us) a chunk, by samples a chunk"},
    {"latency", "hz", "latency_p50_us", "One-way latency (us, median), by samples a second"},
    {"throughput", "bytes", "mb_per_s", "MB/s, by bytes a push"},
};

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush())
        throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
}

/// Runs gnuplot on a script; false when it is not there, or fails.
bool run_gnuplot(const std::string& script) {
    char name[] = "gnuplot";
    std::string file = script;
    char* const arguments[] = {name, file.data(), nullptr};
    pid_t pid = 0;
    if (::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ) != 0)
        return false;
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Points by line: of rows whose labels, but for link, how and x, are those of the first row that has the metric.
std::map<std::string, std::string> points_of(const drawing& d, const plan& p, const std::vector<row>& rows) {
    const auto x = static_cast<std::size_t>(std::ranges::find(p.label_names, d.x) - p.label_names.begin());
    std::map<std::string, std::string> lines;
    const row* first = nullptr;
    for (const row& r : rows) {
        const auto found = r.metrics.find(d.metric);
        if (found == r.metrics.end())
            continue;
        if (!first)
            first = &r;
        bool same = true;
        for (std::size_t i = 2; i < r.labels.size(); ++i)
            same &= i == x || p.label_names[i] == "channels" || p.label_names[i] == "chunk" ||
                    r.labels[i] == first->labels[i];
        if (same)
            lines[r.labels[0] + ' ' + r.labels[1]] += fmt::format("{} {}\n", r.labels[x], found->second.median());
    }
    return lines;
}

/// The name of the SVG; empty when it could not be drawn.
std::string draw(const drawing& d, const plan& p, const std::vector<row>& rows, const std::filesystem::path& folder) {
    const auto lines = points_of(d, p, rows);
    if (lines.empty())
        return "";
    const std::string name = fmt::format("{}-{}", d.subcommand, d.metric);
    const std::string svg = (folder / (name + ".svg")).string();
    std::string script = fmt::format("set terminal svg size 1000,560\nset output '{}'\nset logscale xy\nset grid\n"
                                     "set key outside\nset title '{}'\nset xlabel '{}'\n",
                                     svg, d.title, d.x);
    std::string plot, data;
    for (const auto& [line, points] : lines) {
        plot += fmt::format("{}'-' using 1:2 with linespoints title '{}'", plot.empty() ? "plot " : ", ", line);
        data += points + "e\n";
    }
    const auto path = folder / (name + ".gnuplot");
    write_file(path, fmt::format("{}{}\n{}", script, plot, data));
    return run_gnuplot(path.string()) ? name + ".svg" : "";
}

} // namespace

std::vector<row> write_report(const bench_options& o, const surroundings& around, const machine& m) {
    const std::filesystem::path folder = o.folder;
    std::filesystem::create_directories(folder);
    std::string report =
        fmt::format("# stream-bench report\n\n{}\n\n`{}`\n\nMedian of {} runs of {} s, where it matters "
                    "(min..max).\n",
                    describe(m), fmt::join(o.command, " "), o.runs, o.seconds);
    std::vector<row> all;
    bool drawn = true;
    for (const std::string& name : measuring_subcommands()) {
        const plan p = make_plan(name, o, around);
        const std::vector<row> rows = run_plan(p, o.runs, [](const std::vector<row>&) {});
        write_file(folder / (name + ".csv"), to_csv(p, rows));
        write_file(folder / (name + ".json"), to_json(p, rows, m, o.command));
        report += fmt::format("\n## {}\n\n{}\n", name, to_markdown(p, rows));
        for (const drawing& d : drawings)
            if (name == d.subcommand) {
                const std::string picture = draw(d, p, rows, folder);
                drawn &= !picture.empty();
                report += picture.empty() ? "" : fmt::format("\n![{}]({})\n", d.title, picture);
            }
        all.insert(all.end(), rows.begin(), rows.end());
    }
    if (!drawn)
        report += "\nPlots are missing: install gnuplot (Debian: gnuplot-nox) and run `gnuplot *.gnuplot` here.\n";
    write_file(folder / "report.md", report);
    return all;
}

} // namespace rivulet::tools::bench
