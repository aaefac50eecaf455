// Declarations of what arrays and the module have for memory shared between processes.
#pragma once

#include <cstddef>
#include <span>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

extern PyMethodDef kSharedFunctions[];   // shared_functions.cpp: private
extern PyMethodDef kOverlapFunctions[];  // shared_methods.cpp: shares_memory
extern PyMethodDef kSharedMethods[];     // shared_methods.cpp: is_shared, shared_handle

/// Whether an arena of refarray.shared has the array's memory.
bool is_in_arena(const core::ArrayView& array) noexcept;

// Of arrays in memory of a device: shared_devices.cpp.

/// A row-major array in device memory that other processes can map.
Ref new_on_device(const State& state, const core::DType& dtype, core::Extents shape,
                  const core::Device& device, bool zeroed);
/// The bytes by which another process attaches an array in such memory; waits for work on it.
Ref send_from_device(const core::ArrayView& view);
bool is_of_device(std::span<const std::byte> message) noexcept;
/// The array of such bytes. `file`: its descriptor, or -1 if this process may have the memory.
Ref attach_on_device(const State& state, std::span<const std::byte> message, int file);

}  // namespace refarray::extension
