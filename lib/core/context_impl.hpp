#pragma once

#include "transport/io_context.hpp"

namespace rivulet::detail {

/// What a context handle refers to; kept alive by every outlet and inlet made with it.
class context_impl final : public transport::io_context {
public:
    using transport::io_context::io_context;
};

} // namespace rivulet::detail
