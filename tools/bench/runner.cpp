#include "bench/runner.hpp"

#include "common/log.hpp"

#include <fmt/format.h>

namespace rivulet::tools::bench {
namespace {

constexpr std::pair<const char*, plan (*)(const bench_options&, const surroundings&)> plans[] = {
    {"raw", raw_plan},           {"matrix", matrix_plan}, {"latency", latency_plan}, {"throughput", throughput_plan},
    {"capacity", capacity_plan}, {"loop", loop_plan},     {"queue", queue_plan},     {"encoding", encoding_plan},
    {"scale", scale_plan},
};

} // namespace

plan make_plan(const std::string& subcommand, const bench_options& o, const surroundings& around) {
    for (const auto& [name, make] : plans)
        if (subcommand == name)
            return make(o, around);
    throw usage_error("no such subcommand: " + subcommand);
}

std::vector<std::string> measuring_subcommands() {
    std::vector<std::string> names;
    for (const auto& [name, make] : plans)
        names.emplace_back(name);
    return names;
}

std::vector<row> run_plan(const plan& p, std::uint64_t runs,
                          const std::function<void(const std::vector<row>&)>& on_rows) {
    std::vector<row> rows;
    std::size_t done = 0;
    for (const group& g : p.groups) {
        const auto progress = [&](const cell& c, std::uint64_t run) {
            show_status(fmt::format("{}: group {} of {}, run {} of {}: {}", p.name, done + 1, p.groups.size(), run + 1,
                                    runs, fmt::join(c.labels, " ")));
        };
        const std::vector<row> of_group = run_group(g, p.comparisons, runs, progress);
        clear_status();
        on_rows(of_group);
        rows.insert(rows.end(), of_group.begin(), of_group.end());
        ++done;
    }
    return rows;
}

} // namespace rivulet::tools::bench
