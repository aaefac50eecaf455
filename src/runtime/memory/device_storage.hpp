// Allocates device, pinned and managed memory, freed after all work on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory/storage.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// `nbytes` rounded up to whole 32-bit words. Every allocation is: kernels write packed elements by
/// operations on words.
constexpr std::size_t whole_words(std::int64_t nbytes) noexcept {
  return (static_cast<std::size_t>(nbytes) + 3) & ~std::size_t{3};
}

/// Uninitialised writable memory. Device memory may be used on `stream` at once, on other streams
/// after waiting for the storage's pending work. Throws kBuffer if the device cannot be used or the
/// stream captures a graph, kMemory, DriverError.
core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream);

}  // namespace refarray::runtime
