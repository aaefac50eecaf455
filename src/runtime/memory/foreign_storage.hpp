// A producer's device memory: storage over it, and the device that it is on.
#pragma once

#include <cstddef>

#include "core/memory/storage.hpp"
#include "refarray/core/device.hpp"

namespace refarray::runtime {

/// A storage over memory that `owner` keeps alive. `deleter(owner)` is called exactly once, on any
/// thread, after our work on the memory has finished.
core::StoragePtr new_foreign_storage(std::byte* data, const core::Device& device, bool writable,
                                     void (*deleter)(void* owner) noexcept, void* owner);

/// The device that `data` is on: a producer may number devices differently. Throws kBuffer
/// if the driver knows no such device memory, or if memory labelled as pinned is device memory; the
/// latter is checked only if the driver is already loaded. `data` is not nullptr.
core::Device confirm(const core::Device& labelled, const void* data);

}  // namespace refarray::runtime
