#pragma once

/// RIVULET_API marks what the shared library exports; everything else is hidden.
#if defined(RIVULET_STATIC)
#define RIVULET_API
#else
#define RIVULET_API __attribute__((visibility("default")))
#endif
