#pragma once

#include <rivulet/export.hpp>

#define RIVULET_VERSION_MAJOR 0
#define RIVULET_VERSION_MINOR 1
#define RIVULET_VERSION_PATCH 0

namespace rivulet {

/// "0.1.0" of the library that is loaded, which may differ from the headers' RIVULET_VERSION_*.
RIVULET_API const char* version() noexcept;

} // namespace rivulet
