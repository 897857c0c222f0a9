#include "checked_unpack.hpp"

#include <cstdint>

namespace rivulet::wire {
namespace {

/// Goes along with msgpack's parser and stops it where the budget ends.
class budget_visitor : public msgpack::null_visitor {
public:
    explicit budget_visitor(const unpack_budget& budget) : budget_(&budget), values_left_(budget.values) {}

    frame_error error() const noexcept { return error_; }

    bool visit_str(const char*, std::uint32_t size) { return check_text(size); }
    bool visit_bin(const char*, std::uint32_t size) { return check_text(size); }
    bool visit_ext(const char*, std::uint32_t size) { return check_text(size); }
    bool start_array(std::uint32_t elements) { return enter(elements); }
    bool start_map(std::uint32_t pairs) { return enter(std::size_t{2} * pairs); }
    bool end_array() { return leave(); }
    bool end_map() { return leave(); }
    void parse_error(std::size_t, std::size_t) { error_ = frame_error::bad_field; }
    void insufficient_bytes(std::size_t, std::size_t) { error_ = frame_error::truncated; }

private:
    bool check_text(std::size_t size) { return size <= budget_->text_bytes || refuse(); }
    bool enter(std::size_t values) {
        if (values > values_left_ || depth_ == budget_->depth)
            return refuse();
        values_left_ -= values;
        ++depth_;
        return true;
    }
    bool leave() {
        --depth_;
        return true;
    }
    bool refuse() {
        error_ = frame_error::too_large;
        return false;
    }

    const unpack_budget* budget_;
    std::size_t values_left_;
    std::size_t depth_ = 0;
    frame_error error_ = frame_error::none;
};

bool refer_to_source(msgpack::type::object_type, std::size_t, void*) { return true; }

} // namespace

frame_error checked_unpack(bytes_view bytes, const unpack_budget& budget, msgpack::object_handle& out) {
    const auto* const data = reinterpret_cast<const char*>(bytes.data());
    budget_visitor visitor(budget);
    std::size_t used = 0;
    if (!msgpack::parse(data, bytes.size(), used, visitor))
        return visitor.error() == frame_error::none ? frame_error::truncated : visitor.error();
    if (used != bytes.size())
        return frame_error::trailing;
    bool referenced = false;
    out = msgpack::unpack(data, bytes.size(), referenced, refer_to_source);
    return frame_error::none;
}

} // namespace rivulet::wire
