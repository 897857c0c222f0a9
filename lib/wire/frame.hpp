#pragma once

/// The frame codec of FORMAT.md v1. Pure functions: no I/O, no clock, no global state (make_token asks the operating
/// system for randomness). Any thread.
#include "byte_order.hpp"   // IWYU pragma: export
#include "clock_frame.hpp"  // IWYU pragma: export
#include "data_frame.hpp"   // IWYU pragma: export
#include "frame_kind.hpp"   // IWYU pragma: export
#include "hello.hpp"        // IWYU pragma: export
#include "info_frame.hpp"   // IWYU pragma: export
#include "status_frame.hpp" // IWYU pragma: export
#include "text_payload.hpp" // IWYU pragma: export
