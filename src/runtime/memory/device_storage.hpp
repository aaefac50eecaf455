// new_array(): new row-major arrays on any device, whose memory is freed after all work on it. The
// same in memory that other processes can map.
#pragma once

#include <array>
#include <cstdint>

#include "core/array.hpp"
#include "runtime/drivers/driver_table.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// A new row-major array on `device`. Device memory is allocated, and zeroed, in stream order on
/// `stream` if that is a stream of the device, else on the device's current stream. Throws kBuffer
/// naming the device and the reason if it cannot be used, kMemory, DriverError.
core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream = nullptr);

/// Of one allocation, in all processes.
using SharedId = std::array<std::uint8_t, 16>;
/// What another process needs to map an array's memory, besides its descriptor.
struct SharedMemory {
  core::DeviceKind kind;  // kCuda or kRocm
  Uuid device;
  SharedId id;
  std::size_t nbytes;
};

/// As new_array(), in an allocation of its own that other processes can map. Throws also kBuffer
/// where the driver has no such memory.
core::Array new_shared_array(const core::DType& dtype, core::Extents shape,
                             const core::Device& device, bool zeroed);
bool is_shared(const core::ArrayView& array) noexcept;
/// Waits until all our work on the array has finished: other processes do not see it. Throws
/// kBuffer for an array that is in no such memory. The caller must not hold the GIL.
SharedMemory share(const core::ArrayView& array);
/// The array's descriptor, as long as its memory lives; -1 if it is in no such memory.
int descriptor_of(const core::ArrayView& array) noexcept;
/// The memory that another process shares: the one mapping that this process has, or a new one.
/// `file` stays the caller's; it is needed for a new mapping only. Throws kBuffer, DriverError. The
/// caller must not hold the GIL.
core::StoragePtr open_shared(const SharedMemory& memory, int file);

}  // namespace refarray::runtime
