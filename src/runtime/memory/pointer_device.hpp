// Checks a tensor's device against the driver's record of its address.
#pragma once

#include "refarray/core/device.hpp"

namespace refarray::runtime {

/// The device that `data` is on: a producer may number devices differently. Throws kBuffer
/// if the driver knows no such device memory, or if memory labelled as pinned is device memory; the
/// latter is checked only if the driver is already loaded. `data` is not nullptr.
core::Device confirm(const core::Device& labelled, const void* data);

}  // namespace refarray::runtime
