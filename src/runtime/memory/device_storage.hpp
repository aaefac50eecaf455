// new_array(): new row-major arrays on any device, whose memory is freed after all work on it.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// A new row-major array on `device`. Device memory is allocated, and zeroed, in stream order on
/// `stream` if that is a stream of the device, else on the device's current stream. Throws kBuffer
/// naming the device and the reason if it cannot be used, kMemory, DriverError.
core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream = nullptr);

}  // namespace refarray::runtime
