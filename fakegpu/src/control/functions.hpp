// What holds for driver functions by their names.
#pragma once

#include <string_view>

namespace fakegpu {

/// Functions of the CUDA driver API that are documented to fail without a current context, although
/// a stream, an event or a pointer names one.
bool needs_context(std::string_view name);

/// Functions that only read or set what the calling thread or the driver keeps: they enqueue,
/// allocate and release nothing, so a caller may hold a lock that others need. All others may wait:
/// for the device, for room in a queue or for another thread that is inside the driver.
bool is_immediate(std::string_view name);

}  // namespace fakegpu
