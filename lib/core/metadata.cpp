#include <rivulet/metadata.hpp>

#include <algorithm>

namespace rivulet {

metadata::metadata(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}

metadata& metadata::value(std::string text) {
    value_ = std::move(text);
    return *this;
}

metadata& metadata::child(std::string_view name) {
    for (auto& node : children_)
        if (node.name_ == name)
            return node;
    return children_.emplace_back(std::string(name));
}

const metadata* metadata::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(children_, name, &metadata::name_);
    return found == children_.end() ? nullptr : &*found;
}

metadata& metadata::append(std::string name, std::string value) {
    return children_.emplace_back(std::move(name), std::move(value));
}

std::size_t metadata::remove(std::string_view name) {
    return std::erase_if(children_, [&](const metadata& node) { return node.name_ == name; });
}

metadata& metadata::at_path(std::string_view dotted_path) {
    metadata* node = this;
    for (std::size_t dot; !dotted_path.empty(); dotted_path.remove_prefix(std::min(dot, dotted_path.size() - 1) + 1)) {
        dot = dotted_path.find('.');
        node = &node->child(dotted_path.substr(0, dot));
    }
    return *node;
}

std::string_view metadata::value_at(std::string_view dotted_path) const noexcept {
    const metadata* node = this;
    while (node && !dotted_path.empty()) {
        const std::size_t dot = dotted_path.find('.');
        node = node->find(dotted_path.substr(0, dot));
        dotted_path.remove_prefix(dot == std::string_view::npos ? dotted_path.size() : dot + 1);
    }
    return node ? std::string_view(node->value_) : std::string_view();
}

} // namespace rivulet
