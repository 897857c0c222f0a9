#include <rivulet/version.hpp>

namespace rivulet {

#define RIVULET_TEXT_(x) #x
#define RIVULET_TEXT(x) RIVULET_TEXT_(x)

const char* version() noexcept {
    return RIVULET_TEXT(RIVULET_VERSION_MAJOR) "." RIVULET_TEXT(RIVULET_VERSION_MINOR) "." RIVULET_TEXT(
        RIVULET_VERSION_PATCH);
}

} // namespace rivulet
