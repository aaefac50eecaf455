// Storage over a producer's device memory.
#pragma once

#include <cstddef>

#include "core/memory/storage.hpp"
#include "refarray/core/device.hpp"

namespace refarray::runtime {

/// A storage over memory that `owner` keeps alive. `deleter(owner)` is called exactly once, on any
/// thread, after our work on the memory has finished.
core::StoragePtr new_foreign_storage(std::byte* data, const core::Device& device, bool writable,
                                     void (*deleter)(void* owner) noexcept, void* owner);

}  // namespace refarray::runtime
