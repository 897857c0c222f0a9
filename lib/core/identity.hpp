#pragma once

#include <rivulet/config.hpp>
#include <rivulet/stream_info.hpp>

namespace rivulet::core {

/// Fills what an outlet knows of itself: a new uid, host name, session, time of creation.
void fill_identity(stream_info& info, const config& settings);

/// 32 hexadecimal digits that nobody else has.
std::string new_uid();

/// "program:pid" of this process, the default name of an inlet.
std::string process_name();

} // namespace rivulet::core
