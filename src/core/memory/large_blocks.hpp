// A cache of large freed blocks. Without it every new large array page-faults over all its memory,
// which for 64 MiB takes as long as writing it.
#pragma once

#include <cstddef>

namespace refarray::core {

/// Blocks of malloc() of at least this size are cached. glibc's malloc() itself reuses smaller
/// blocks: 32 MiB is the largest value of its dynamic M_MMAP_THRESHOLD.
inline constexpr std::size_t kLargeBlockMin = std::size_t{32} << 20;
/// The sizes of large blocks are multiples of this, so that arrays of similar size can reuse them.
inline constexpr std::size_t kLargeBlockStep = std::size_t{64} << 10;
/// Limit of all cached blocks together. The kernel may reclaim their pages at any time (MADV_FREE);
/// until then they count as resident memory of the process.
inline constexpr std::size_t kMaxCachedBytes = std::size_t{128} << 20;

/// A cached block of exactly this size with arbitrary contents, or nullptr.
void* take_large_block(std::size_t size) noexcept;
/// Caches or frees a block. Both functions are lock-free and safe on any thread and across fork().
void free_large_block(void* block, std::size_t size) noexcept;

}  // namespace refarray::core
