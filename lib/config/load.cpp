#include "config/keys.hpp"
#include "platform/text.hpp"

#include <rivulet/config.hpp>
#include <rivulet/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <system_error>
#include <toml++/toml.h>
#include <unistd.h>

namespace rivulet {
namespace {

using platform::nearest;
using platform::printable;
using settings::key;
using settings::raw_value;

constexpr std::string_view prefix = "RIVULET_";
constexpr std::string_view file_variable = "RIVULET_CONFIG";

/// Nothing where one of them is no text.
decltype(raw_value::value) texts_of(const toml::array& array) {
    std::vector<std::string> texts;
    for (const toml::node& item : array) {
        if (!item.is_string())
            return {};
        texts.push_back(item.value_or(std::string()));
    }
    return texts;
}

raw_value raw_of(const toml::node& node) {
    switch (node.type()) {
    case toml::node_type::string: return {node.value_or(std::string()), false, "text"};
    case toml::node_type::integer: return {node.value_or(std::int64_t{0}), false, "a whole number"};
    case toml::node_type::floating_point: return {node.value_or(0.0), false, "a number with a fraction"};
    case toml::node_type::boolean: return {node.value_or(false), false, "a truth value"};
    case toml::node_type::array: return {texts_of(*node.as_array()), false, "an array"};
    case toml::node_type::table: return {{}, false, "a table"};
    default: return {{}, false, "a date or time"};
    }
}

/// Reads one source after the other over the defaults and collects what is wrong with all of them.
class loader {
public:
    void read_text(const std::string& text, const std::string& origin) {
        toml::table root;
        try {
            root = toml::parse(text, origin);
        } catch (const toml::parse_error& e) {
            findings_.push_back({e.source().begin.line, fmt::format("{}:{}: {}", origin, e.source().begin.line,
                                                                    printable(e.description(), 300))});
            return;
        }
        for (const auto& [name, node] : root)
            read_section(name, node, origin);
        std::stable_sort(findings_.begin(), findings_.end(),
                         [](const finding& a, const finding& b) { return a.line < b.line; });
    }

    void read_environment(const environment& env) {
        for (const auto& [name, text] : env)
            if (name.starts_with(prefix) && name != file_variable && !text.empty())
                read_variable(name, text);
    }

    /// @throws error bad_config, if anything was found.
    config finish() {
        if (findings_.empty())
            for (const settings::conflict& c : settings::conflicts(values_))
                findings_.push_back({0, fmt::format("{}: {}", origin_of(c), c.what)});
        if (findings_.empty())
            return values_;
        std::string text;
        for (const finding& f : findings_)
            text += (text.empty() ? "" : "\n") + f.text;
        throw error(errc::bad_config, text);
    }

private:
    struct finding {
        std::size_t line;
        std::string text;
    };

    void read_section(const toml::key& name, const toml::node& node, const std::string& origin) {
        const auto line = name.source().begin.line;
        const auto names = settings::section_names();
        if (std::find(names.begin(), names.end(), name.str()) == names.end()) {
            findings_.push_back({line, fmt::format("{}:{}: {}", origin, line, unknown_section(name.str(), node))});
        } else if (!node.is_table()) {
            findings_.push_back({line, fmt::format("{}:{}: {} is a section; write [{}] on a line of its own", origin,
                                                   line, name.str(), name.str())});
        } else {
            for (const auto& [key_name, value] : *node.as_table())
                read_key(name.str(), key_name, value, origin);
        }
    }

    void read_key(std::string_view section, const toml::key& name, const toml::node& node, const std::string& origin) {
        const auto line = name.source().begin.line;
        const std::string where = fmt::format("{}:{}: [{}] {}", origin, line, section, printable(name.str()));
        const key* known = settings::find_key(section, name.str());
        const std::string complaint =
            known == nullptr ? unknown_key(section, name.str()) : known->assign(values_, raw_of(node));
        if (complaint.empty())
            origins_[known] = where;
        else
            findings_.push_back({line, fmt::format("{}: {}", where, complaint)});
    }

    void read_variable(const std::string& name, const std::string& text) {
        std::vector<std::string_view> variables;
        for (const key& k : settings::keys()) {
            if (k.variable == name) {
                const std::string complaint = k.assign(values_, {text, true, "text"});
                if (complaint.empty())
                    origins_[&k] = name;
                else
                    findings_.push_back({0, fmt::format("{}: {}", name, complaint)});
                return;
            }
            variables.push_back(k.variable);
        }
        const std::string_view near = nearest(name, variables);
        if (!near.empty())
            findings_.push_back({0, fmt::format("{}: no such setting, did you mean {}?", printable(name), near)});
        else if (const std::string section = section_of(name); !section.empty())
            findings_.push_back({0, fmt::format("{}: no such setting; keys of [{}]: {}", printable(name), section,
                                                fmt::join(settings::key_names(section), ", "))});
    }

    /// The section that a variable's name begins with, "" for another name.
    static std::string section_of(std::string_view variable) {
        std::string rest(variable.substr(prefix.size()));
        std::transform(rest.begin(), rest.end(), rest.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        const std::string first = rest.substr(0, rest.find('_'));
        const auto names = settings::section_names();
        return std::find(names.begin(), names.end(), first) == names.end() ? std::string() : first;
    }

    static std::string unknown_section(std::string_view name, const toml::node& node) {
        const auto names = settings::section_names();
        if (!node.is_table()) {
            for (const key& k : settings::keys())
                if (k.name == name)
                    return fmt::format("{} stands outside its section; put it below [{}]", name, k.section);
            return fmt::format("{}: unknown key outside any section; sections: {}", printable(name),
                               fmt::join(names, ", "));
        }
        const std::string_view near = nearest(name, names);
        if (!near.empty())
            return fmt::format("[{}]: unknown section, did you mean [{}]?", printable(name), near);
        return fmt::format("[{}]: unknown section; sections: {}", printable(name), fmt::join(names, ", "));
    }

    static std::string unknown_key(std::string_view section, std::string_view name) {
        const auto names = settings::key_names(section);
        if (const std::string_view near = nearest(name, names); !near.empty())
            return fmt::format("unknown key, did you mean {}?", near);
        for (const key& k : settings::keys())
            if (k.name == name)
                return fmt::format("unknown key here; it belongs below [{}]", k.section);
        return fmt::format("unknown key; keys of [{}]: {}", section, fmt::join(names, ", "));
    }

    /// Names the source that set one of both; a default alone conflicts with nothing.
    std::string origin_of(const settings::conflict& c) const {
        for (const key* k : {c.first, c.second})
            if (const auto found = origins_.find(k); found != origins_.end())
                return found->second;
        return c.first->where();
    }

    config values_;
    std::map<const key*, std::string> origins_; ///< where the value in force was set
    std::vector<finding> findings_;
};

std::string read_file(const std::string& path) {
    constexpr std::size_t limit = 1 << 20;
    const auto fail = [&](const std::string& why) -> error {
        return {errc::bad_config, fmt::format("cannot read the configuration file {}: {}", printable(path, 300), why)};
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
    if (!file)
        throw fail(std::generic_category().message(errno));
    std::string text(limit + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0)
        throw fail(std::generic_category().message(errno));
    if (text.size() > limit)
        throw fail("larger than 1 MiB, so hardly a configuration file");
    return text;
}

/// The file to read; nothing when none was asked for and none is in its place.
std::optional<std::string> find_file(const std::optional<std::string>& file, const environment& env) {
    if (file)
        return file;
    if (const auto named = env.find(std::string(file_variable)); named != env.end() && !named->second.empty())
        return named->second;
    std::vector<std::string> places{"./rivulet.toml"};
    if (const auto home = env.find("HOME"); home != env.end() && !home->second.empty())
        places.push_back(home->second + "/.config/rivulet/rivulet.toml");
    places.emplace_back("/etc/rivulet/rivulet.toml");
    for (const std::string& place : places) {
        std::error_code ignored;
        if (std::filesystem::exists(place, ignored))
            return place;
    }
    return std::nullopt;
}

} // namespace

environment process_environment() {
    environment out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        if (equals != std::string_view::npos && (name.starts_with(prefix) || name == "HOME"))
            out.emplace(name, text.substr(equals + 1));
    }
    return out;
}

config load_config(const std::optional<std::string>& file) { return load_config(file, process_environment()); }

config load_config(const std::optional<std::string>& file, const environment& env, config_source* source) {
    const std::optional<std::string> path = find_file(file, env);
    if (source != nullptr)
        source->file = path;
    loader loading;
    if (path)
        loading.read_text(read_file(*path), *path);
    loading.read_environment(env);
    return loading.finish();
}

config parse_config(const std::string& toml_text, const std::string& origin) {
    loader loading;
    loading.read_text(toml_text, origin);
    return loading.finish();
}

} // namespace rivulet
