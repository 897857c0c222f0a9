#pragma once

#include <rivulet/export.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rivulet {

/// One element of a stream's description: a name, a text value, and children in order (as in XDF's <desc>).
/// A plain value type; copies are deep. Threads: as any value.
class RIVULET_API metadata {
public:
    metadata() = default;
    explicit metadata(std::string name, std::string value = {});

    const std::string& name() const noexcept { return name_; }
    const std::string& value() const noexcept { return value_; }
    metadata& value(std::string text);

    const std::vector<metadata>& children() const noexcept { return children_; }
    std::vector<metadata>& children() noexcept { return children_; }
    bool empty() const noexcept { return value_.empty() && children_.empty(); }

    /// The first child of that name, made when there is none.
    metadata& child(std::string_view name);
    /// The first child of that name, or nullptr.
    const metadata* find(std::string_view name) const noexcept;
    /// A new child at the end, also when others have the same name.
    metadata& append(std::string name, std::string value = {});
    /// Removes every child of that name; returns how many there were.
    std::size_t remove(std::string_view name);

    /// The element at a dotted path ("amplifier.settings.gain"), made as needed.
    metadata& at_path(std::string_view dotted_path);
    /// The value at a dotted path, "" when there is none.
    std::string_view value_at(std::string_view dotted_path) const noexcept;

    friend bool operator==(const metadata&, const metadata&) = default;

private:
    std::string name_;
    std::string value_;
    std::vector<metadata> children_;
};

} // namespace rivulet
