// Aligned blocks of the C library: posix_memalign(), or Windows' own pair of functions.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace refarray::core {

/// nullptr when there is no memory. Only free_aligned() frees the block.
inline void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
#if defined(_WIN32)
  return _aligned_malloc(size, alignment);
#else
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
#endif
}

inline void free_aligned(void* block) noexcept {
#if defined(_WIN32)
  _aligned_free(block);
#else
  std::free(block);
#endif
}

}  // namespace refarray::core
