#pragma once

#include <rivulet/channel_format.hpp>
#include <rivulet/clock.hpp>
#include <rivulet/config.hpp>
#include <rivulet/context.hpp>
#include <rivulet/control.hpp>
#include <rivulet/error.hpp>
#include <rivulet/frames.hpp>
#include <rivulet/inlet.hpp>
#include <rivulet/keys.hpp>
#include <rivulet/metadata.hpp>
#include <rivulet/options.hpp>
#include <rivulet/outlet.hpp>
#include <rivulet/remote.hpp>
#include <rivulet/resolver.hpp>
#include <rivulet/stream_info.hpp>
#include <rivulet/version.hpp>
