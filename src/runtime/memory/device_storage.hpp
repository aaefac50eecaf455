// Allocates device, pinned and managed memory, freed after all work on it.
#pragma once

#include "core/memory/storage.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// Uninitialised writable memory. Device memory may be used on `stream` at once, on other streams
/// after waiting for the storage's pending work. Throws kBuffer if the device cannot be used or the
/// stream captures a graph, kMemory, DriverError.
core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream);

}  // namespace refarray::runtime
