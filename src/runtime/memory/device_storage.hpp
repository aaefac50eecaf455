// Owns memory of our own on devices, and pinned and managed memory: where it comes from, and giving
// it back behind everybody's work.
#pragma once

#include "core/memory/storage.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// Fresh writable bytes on a device, whatever they hold. Device memory may be used on `stream` at
/// once, and elsewhere after waiting for the storage's uses. Throws kBuffer when the device cannot
/// be used or the stream captures a graph, kMemory, DriverError.
core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream);

}  // namespace refarray::runtime
