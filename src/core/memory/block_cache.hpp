// Owns a few large blocks that were freed, so that the next large array need not have its pages
// made and cleared again: for a result of 64 MiB that takes as long as writing it.
#pragma once

#include <cstddef>

namespace refarray::core {

/// Blocks of malloc() from this size on are kept.
inline constexpr std::size_t kCachedFrom = std::size_t{4} << 20;
/// Sizes of such blocks are rounded up to a multiple of this, so that nearly equal ones fit.
inline constexpr std::size_t kCachedStep = std::size_t{64} << 10;
/// What all kept blocks together may have. The system can take their pages back at any time
/// (MADV_FREE), they only count as ours until it does.
inline constexpr std::size_t kMostCached = std::size_t{128} << 20;

/// A kept block of exactly that size, or nullptr. Its bytes are of any value.
void* take_cached_block(std::size_t size) noexcept;
/// Keeps a block or frees it. Both are safe on any thread and across a fork: there is no lock.
void give_cached_block(void* block, std::size_t size) noexcept;

}  // namespace refarray::core
