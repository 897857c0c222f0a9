#include "bench/output.hpp"

#include "common/json.hpp"
#include "common/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace rivulet::tools::bench {
namespace {

std::string cell_text(const column& c, const row& r) {
    const auto found = r.metrics.find(c.metric);
    if (found == r.metrics.end())
        return "-";
    const series& s = found->second;
    std::string text = short_number(s.median() * c.scale, c.digits);
    if (c.spread && s.values().size() > 1)
        text += fmt::format(" ({}..{})", short_number(s.min() * c.scale, c.digits),
                            short_number(s.max() * c.scale, c.digits));
    return text;
}

} // namespace

std::string describe(const machine& m) {
    return fmt::format("{} x {}, {}, rivulet {} ({}, {}), libzmq {}, load {:.2f}, {}", m.cores, m.cpu, m.kernel,
                       m.version, m.commit, m.build, m.libzmq, m.load, m.when);
}

std::string short_number(double value, int digits) {
    if (std::isnan(value))
        return "n/a";
    const double size = std::abs(value);
    for (const auto& [unit, factor] : {std::pair<const char*, double>{"G", 1e9}, {"M", 1e6}, {"k", 1e3}})
        if (size >= factor * (factor < 1e4 ? 10 : 1)) // 1234 as it is, 12.3k
            return short_number(value / factor, digits) + unit;
    if (size >= std::pow(10.0, digits) || value == 0)
        return fmt::format("{:.0f}", value);
    if (size < 0.001)
        return fmt::format("{:.1e}", value);
    return fmt::format("{:.{}f}", value, std::max(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0));
}

text_table::text_table(const plan& p) : labels_(p.label_names.size()), columns_(p.columns) {
    for (std::size_t i = 0; i < labels_; ++i) {
        std::size_t width = p.label_names[i].size();
        for (const group& g : p.groups)
            for (const cell& c : g)
                width = std::max(width, c.labels[i].size());
        titles_.push_back(p.label_names[i]);
        widths_.push_back(width);
    }
    for (const column& c : columns_) {
        titles_.emplace_back(c.title);
        widths_.push_back(std::max<std::size_t>(std::string_view(c.title).size(), c.spread ? 18 : 7));
    }
}

std::string text_table::header() const {
    std::string text;
    for (std::size_t i = 0; i < titles_.size(); ++i)
        text += i < labels_ ? fmt::format("{:<{}}  ", titles_[i], widths_[i])
                            : fmt::format("{:>{}}  ", titles_[i], widths_[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string text_table::line(const row& r) const {
    std::string text;
    for (std::size_t i = 0; i < labels_; ++i)
        text += fmt::format("{:<{}}  ", r.labels[i], widths_[i]);
    for (std::size_t i = 0; i < columns_.size(); ++i)
        text += fmt::format("{:>{}}  ", cell_text(columns_[i], r), widths_[labels_ + i]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string to_json(const plan& p, const std::vector<row>& rows, const machine& m,
                    const std::vector<std::string>& command) {
    json_writer json;
    json.begin_object().field("program", "stream-bench").field("subcommand", p.name).begin_array("command");
    for (const std::string& word : command)
        json.element(word);
    json.end_array().begin_object("machine");
    json.field("cpu", m.cpu).field("cores", m.cores).field("kernel", m.kernel).field("version", m.version);
    json.field("commit", m.commit).field("build", m.build).field("libzmq", m.libzmq).field("time", m.when);
    json.field("load", m.load).end_object().begin_array("rows");
    for (const row& r : rows) {
        json.begin_object().field("id", r.id());
        for (std::size_t i = 0; i < r.labels.size(); ++i)
            json.field(p.label_names[i], r.labels[i]);
        json.begin_object("metrics");
        for (const auto& [name, s] : r.metrics) {
            json.begin_object(name).field("median", s.median()).field("min", s.min()).field("max", s.max());
            json.begin_array("runs");
            for (const double value : s.values())
                json.element(value);
            json.end_array().end_object();
        }
        json.end_object().end_object();
    }
    json.end_array().begin_array("notes");
    for (const std::string& note : p.notes)
        json.element(note);
    json.end_array().end_object();
    return json.text() + '\n';
}

std::string to_markdown(const plan& p, const std::vector<row>& rows) {
    std::string text = fmt::format("| {}", fmt::join(p.label_names, " | "));
    std::string rule;
    for (const column& c : p.columns)
        text += fmt::format(" | {}", c.title);
    for (std::size_t i = 0; i < p.label_names.size() + p.columns.size(); ++i)
        rule += i < p.label_names.size() ? "|---" : "|--:";
    text += fmt::format(" |\n{}|\n", rule);
    for (const row& r : rows) {
        text += fmt::format("| {}", fmt::join(r.labels, " | "));
        for (const column& c : p.columns)
            text += fmt::format(" | {}", cell_text(c, r));
        text += " |\n";
    }
    for (const std::string& note : p.notes)
        text += fmt::format("\n- {}", note);
    return text;
}

std::string to_csv(const plan& p, const std::vector<row>& rows) {
    std::set<std::string> metrics;
    for (const row& r : rows)
        for (const auto& [name, s] : r.metrics)
            metrics.insert(name);
    std::string text = fmt::format("{}", fmt::join(p.label_names, ","));
    for (const std::string& name : metrics)
        text += fmt::format(",{0},{0}_min,{0}_max", name);
    text += '\n';
    for (const row& r : rows) {
        text += fmt::format("{}", fmt::join(r.labels, ","));
        for (const std::string& name : metrics) {
            const auto found = r.metrics.find(name);
            if (found == r.metrics.end())
                text += ",,,";
            else
                for (const double value : {found->second.median(), found->second.min(), found->second.max()})
                    text += ',' + number_text(value);
        }
        text += '\n';
    }
    return text;
}

} // namespace rivulet::tools::bench
